import swagger from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Api } from '../http/route-parts.ts';
import { describeOperation, type RouteFacts } from './describe-operation.ts';
import type { Document } from './document.ts';
import { ABOUT, TAGS } from './introduction.ts';
import { tidySchemas } from './tidy-schemas.ts';

type Transform = typeof jsonSchemaTransform;
type TransformObject = typeof jsonSchemaTransformObject;

/** Describes the routes that are added afterwards as an OpenAPI document, which `api.swagger()` gives. */
export async function addDescription(api: Api, version: string): Promise<void> {
  const facts = new Map<string, RouteFacts>();
  const transform: Transform = (given) => {
    const { schema, url } = jsonSchemaTransform(given);
    const { method, config } = given.route;
    const { body } = given.schema ?? {};
    const operationId = nameOf(String(method), url);
    facts.set(operationId, { scope: 'none', ...config, needsNoBody: body instanceof z.ZodType && body.safeParse(undefined).success });
    return { schema: { operationId, ...schema }, url };
  };
  const transformObject: TransformObject = (given) => {
    const document = jsonSchemaTransformObject(given) as unknown as Document;
    for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
      const known = facts.get(operation.operationId);
      if (known) describeOperation(document, operation, known);
    }
    tidySchemas(document);
    return document;
  };
  await api.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Longshore', version, description: ABOUT, license: { name: 'MIT', identifier: 'MIT' } },
      servers: [{ url: '/', description: 'The service that gives this document' }],
      tags: TAGS,
      components: {
        securitySchemes: {
          key: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'lsk_…',
            description: 'A key (`longshore keys create <name>`), or a token of the issuer that the service trusts',
          },
        },
      },
    },
    transform,
    transformObject,
  });
}

/** Such as `postConversationsByIdMessages`: what generators of clients call the operation. */
function nameOf(method: string, url: string): string {
  const words = url.split(/[^A-Za-z0-9:*]+/).filter((word) => word !== '' && word !== 'v1');
  const named = words.map((word) => (word.startsWith(':') ? `by-${word.slice(1)}` : word.replace('*', 'any')));
  return `${method.toLowerCase()}-${named.join('-')}`.replaceAll(/-+(\w)/g, (_, letter: string) => letter.toUpperCase());
}
