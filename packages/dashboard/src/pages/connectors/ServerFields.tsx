import type { Kind } from "./server.ts";

const SECRETS = "write {name} where a secret belongs";

function Line(props: { name: string; label: string; example: string }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      <input
        class="input"
        name={props.name}
        placeholder={`for example: ${props.example}`}
        autocomplete="off"
        spellcheck={false}
      />
    </label>
  );
}

function Lines(props: { name: string; label: string; example: string }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      <textarea
        class="input"
        name={props.name}
        placeholder={`for example:\n${props.example}`}
        spellcheck={false}
      />
    </label>
  );
}

/** The fields of a server's configuration. */
export function ServerFields({ kind }: { kind: Kind }) {
  if (kind === "keep") return null;
  if (kind === "stdio") {
    return (
      <>
        <Line name="command" label="Program" example="npx" />
        <Lines name="args" label="Its arguments, one on each line" example={"-y\nsome-mcp-server"} />
        <Lines
          name="env"
          label={`Its environment, a variable on each line; ${SECRETS}`}
          example="API_KEY={api_key}"
        />
      </>
    );
  }
  return (
    <>
      <Line name="url" label="Address" example="https://example.com/mcp" />
      <Lines
        name="headers"
        label={`Further headers, one on each line; ${SECRETS}`}
        example="X-Api-Key: {api_key}"
      />
    </>
  );
}
