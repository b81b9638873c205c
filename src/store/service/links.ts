import type { Database } from '../database/database.ts';
import { createApprovalLinks } from './approval-links.ts';
import { createFileLinks } from './file-links.ts';
import { createPluginWebhooks } from './plugin-webhooks.ts';
import { createPreviewLinks } from './preview-links.ts';
import type { ServiceRows } from './service-rows.ts';

type Links = Pick<ServiceRows, 'approvalLinks' | 'fileLinks' | 'previewLinks' | 'pluginWebhooks'>;

/** What addresses with a secret in them lead to. */
export function createLinks(parts: { database: Database }): Links {
  return {
    approvalLinks: createApprovalLinks(parts),
    fileLinks: createFileLinks(parts),
    previewLinks: createPreviewLinks(parts),
    pluginWebhooks: createPluginWebhooks(parts),
  };
}
