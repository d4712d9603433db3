/** What start, memory and throughput hang on, as far as a test can hold it without measuring time. */
export const speed = {
  "SPEED-1":
    "declaring and routing every route builds no schema; a request builds those of its own route alone",
};
