/** What callers are told about an agent of another gateway. */
export const NOT_HERE = "Another gateway serves this agent; send the request there, or try again later.";
export const NOT_HERE_HEADERS = { "retry-after": "5" };
