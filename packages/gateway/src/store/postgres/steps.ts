/** A step that creates an index on a table that may be large, outside a transaction, so that nobody waits for it. */
const INDEX_STEP = /^\s*CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON \{schema\}\./;

/** Name of the index, of a step that is nothing but that; its names are qualified, because it has no search path. */
export const indexOf = (step: string): string | undefined => INDEX_STEP.exec(step)?.[1];

/** The text of a step with the names of its schemas. */
export const named = (step: string, schema: string, extension: string): string =>
  step.replaceAll("{schema}", `"${schema}"`).replaceAll("{extension}", `"${extension}"`);

/** A step as a transaction can run it, on tables that are empty. */
export const withinTransaction = (step: string, schema: string, extension: string): string =>
  named(step, schema, extension).replace("INDEX CONCURRENTLY", "INDEX");
