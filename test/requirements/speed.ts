/** What start, memory and throughput hang on, as far as a test can hold it without measuring time. */
export const speed = {
  "SPEED-1":
    "declaring and routing every route builds no schema; a request builds those of its own route alone",
  "SPEED-2": "resident memory after ten answers of 8 MB in a row is at most 160 MB",
  "SPEED-4":
    "what a start loads holds no code of a provider, of a runtime with a program, of the command line or of WebSockets",
  "SPEED-3": "the settings that the gateway begins its own process with are not handed to agents",
};
