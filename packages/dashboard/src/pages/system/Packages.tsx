import "./packages.css";
import type { Release } from "../../api/types.ts";
import { ask, DialogHost } from "../../components/Dialog.tsx";
import { Markdown } from "../../components/markdown/Markdown.tsx";
import { askFailure, asking, lookForUpdates, type Package, packages, update } from "../../state/packages.ts";

const NAMES = { gateway: "Gateway", "agent-cli": "Agent CLI" } as const;

function Releases({ releases, unknown }: Pick<Package, "releases" | "unknown">) {
  if (unknown !== undefined) return <p class="hint">What is new could not be loaded: {unknown}</p>;
  if (!releases) return <p class="hint">Looking for what is new…</p>;
  if (releases.length === 0) return <p class="hint">The new version says nothing about what is new.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text scrolls by itself, with the keyboard too
    <section class="releases" aria-label="What is new" tabIndex={0}>
      {releases.map(({ version, date, notes }: Release) => (
        <section key={version}>
          <h4>
            {version}
            {date && <span class="hint"> {date}</span>}
          </h4>
          {notes === "" ? <p class="hint">No notes.</p> : <Markdown text={notes} />}
        </section>
      ))}
    </section>
  );
}

const isKnown = ({ releases, unknown }: Package) => releases !== undefined || unknown !== undefined;

function progressOf({ step, latest }: Package): string {
  switch (step) {
    case "updating":
      return `Version ${latest} is being installed. This can take a few minutes.`;
    case "restarting":
      return `Version ${latest} is installed. The gateway is starting again; this page goes on when it is there.`;
    case "stopped":
      return `Version ${latest} is installed, and the gateway has stopped. Start it again on its machine; this page goes on when it is there.`;
    default:
      return "";
  }
}

function PackageCard({ one, busy }: { one: Package; busy: boolean }) {
  const { package: name, current, latest, hasUpdate, running, step, failure } = one;
  const start = async () => {
    const title = `Update the ${name === "gateway" ? "gateway" : "agent CLI"} to ${latest}?`;
    const text =
      name === "gateway"
        ? "The gateway tries the new version first. Then it restarts, which interrupts the answers that agents are writing."
        : "Sessions that run now keep the version that they have.";
    if ((await ask({ title, text, action: "Update" })) !== undefined) await update(name);
  };
  return (
    <section class="package" aria-labelledby={`package-${name}`}>
      <h3 id={`package-${name}`}>{NAMES[name]}</h3>
      <p>
        {current === null
          ? name === "gateway"
            ? `It was not installed with npm, so it cannot be updated here. The newest version is ${latest}.`
            : `It is not installed. The newest version is ${latest}.`
          : hasUpdate
            ? `Version ${latest} is available; ${current} is installed.`
            : `Version ${current} is installed, which is the newest.`}
        {running !== undefined && ` Version ${running} is running.`}
      </p>
      {hasUpdate && <Releases releases={one.releases} unknown={one.unknown} />}
      {failure && (
        <div role="alert">
          <p class="failure">{failure.text}</p>
          {failure.output !== "" && <pre class="program-output">{failure.output}</pre>}
        </div>
      )}
      <p role="status">{progressOf(one)}</p>
      {hasUpdate && isKnown(one) && step === undefined && (
        <p>
          <button type="button" class="button primary" disabled={busy} onClick={start}>
            Update to {latest}
          </button>
        </p>
      )}
    </section>
  );
}

/** New versions of the gateway and of the agent CLI: what they bring, and then the button that installs them. */
export function Packages() {
  const found = packages.value;
  const busy = asking.value || found?.some(({ step }) => step !== undefined) === true;
  return (
    <section class="packages" aria-labelledby="packages-title">
      <h2 id="packages-title">Updates</h2>
      <p class="hint">The gateway contacts the package registry only when you look for updates.</p>
      {found?.map((one) => (
        <PackageCard key={one.package} one={one} busy={busy} />
      ))}
      <p class="failure" role="alert">
        {askFailure.value}
      </p>
      <p>
        <button type="button" class="button" disabled={busy} onClick={lookForUpdates}>
          {asking.value ? "Looking…" : found ? "Look again" : "Look for updates"}
        </button>
      </p>
      <DialogHost />
    </section>
  );
}
