import { type Step, textOf } from "../state/steps.ts";
import { duration } from "./format.ts";
import { Icon } from "./Icon.tsx";
import { MAX_FORMATTED, Markdown } from "./markdown/Markdown.tsx";

type Tool = Extract<Step, { type: "tool" }>;

const STATE: Record<Tool["state"], string> = {
  running: "running",
  done: "done",
  failed: "failed",
  stopped: "no result",
};

/** An answer: its text, and within it what the agent did and thought, folded until someone opens it. */
export function Steps({ steps }: { steps: readonly Step[] }) {
  const text = textOf(steps);
  // A text that is too long to be formatted is shown as a whole, and in parts, below what was done.
  const apart = text.length > MAX_FORMATTED;
  return (
    <div class="steps">
      {steps.map((step, index) =>
        apart && step.type === "text" ? null : <StepView key={`${index}-${step.type}`} step={step} />,
      )}
      {apart && <Markdown text={text} />}
    </div>
  );
}

function StepView({ step }: { step: Step }) {
  switch (step.type) {
    case "text":
      return step.text.trim() === "" ? null : <Markdown text={step.text} />;
    case "thinking":
      return (
        <details class="step">
          <summary>
            <Icon name="think" />
            <span class="step-name">Thinking</span>
          </summary>
          <p class="plain-text step-body">{step.text}</p>
        </details>
      );
    case "tool":
      return <ToolStep tool={step} />;
    case "omitted":
      return (
        <p class="status-line">
          {step.count} more {step.count === 1 ? "step was" : "steps were"} too large to keep.
        </p>
      );
  }
}

function ToolStep({ tool }: { tool: Tool }) {
  const { name, title, input, result, state, durationMs } = tool;
  return (
    <details class={`step tool ${state}`}>
      <summary>
        <Icon name="tool" />
        <span class="step-name">{name}</span>
        {title && title !== name && <span class="step-title">{title}</span>}
        <span class={state === "running" ? "step-state working" : "step-state"}>
          {STATE[state]}
          {durationMs !== undefined && durationMs >= 1000 && `, ${duration(durationMs)}`}
        </span>
      </summary>
      <dl class="step-body">
        <Part name="Input" text={input && indented(input)} />
        <Part name="Result" text={result} />
        {!input && !result && (
          <p class="hint">{state === "running" ? "No details yet." : "The agent gave no details."}</p>
        )}
      </dl>
    </details>
  );
}

function Part({ name, text }: { name: string; text: string | undefined }) {
  if (!text) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long part must be scrollable by keyboard. */}
        <pre tabIndex={0}>{text}</pre>
      </dd>
    </div>
  );
}

/** Formats JSON for reading; cut-off or invalid JSON stays as it is. */
function indented(input: string): string {
  try {
    return JSON.stringify(JSON.parse(input), null, 2);
  } catch {
    return input;
  }
}
