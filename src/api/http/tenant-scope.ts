import type { FastifyRequest } from 'fastify';
import { asTenant } from '../../store/database/tenant-scope.ts';
import type { Api } from './route-parts.ts';

/** Beneath the checks of the routes: the database shows the queries of a tenant's request nothing of another tenant. Comes after authentication. */
export function addTenantScope(api: Api): void {
  // Requests without a caller reach no tenant's data, or say themselves for whom they act.
  const enter = (request: FastifyRequest, done: () => void) => asTenant((request.caller as FastifyRequest['caller'] | undefined)?.tenantId, done);
  api.addHook('onRequest', (request, _reply, done) => enter(request, done));
  // A body is read in the context of its connection, which may have served somebody else before.
  api.addHook('preValidation', (request, _reply, done) => enter(request, done));
}
