/** What survives `JSON.parse(JSON.stringify(value))`. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
