import type { Document } from './document.ts';

const PLACE = '#/components/schemas/';

/**
 * Makes the document one that every reader can resolve: a reference that leads nowhere (what the schemas say of values that contain themselves: any JSON) becomes
 * a schema that allows everything, and schemas that nothing names are left out.
 */
export function tidySchemas(document: Document): void {
  const { schemas } = document.components;
  const used = new Set<string>();
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    const holder = value as Record<string, unknown>;
    const { $ref } = holder;
    if (typeof $ref === 'string') {
      const name = $ref.slice(PLACE.length);
      const target = schemas[name];
      if (!target) delete holder['$ref'];
      else if (!used.has(name)) {
        used.add(name);
        visit(target);
      }
    }
    for (const inner of Object.values(holder)) visit(inner);
  };
  visit(document.paths);
  document.components.schemas = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)));
}
