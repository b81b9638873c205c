/** Says that the content is to be saved, never shown, under this name. Readers of today take the second form; the first one is for the others. */
export function dispositionOf(name: string): string {
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${name.replaceAll(/[^A-Za-z0-9._-]/g, '_')}"; filename*=UTF-8''${encoded}`;
}
