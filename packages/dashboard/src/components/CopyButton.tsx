import { useSignal } from "@preact/signals";

/** Copies a text; absent where the browser allows no clipboard (plain HTTP on another host). */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const copied = useSignal(false);
  if (!navigator.clipboard) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => {
        copied.value = true;
      },
      () => {},
    );
  };
  return (
    <button
      type="button"
      class="link-button"
      aria-label={label}
      onClick={copy}
      onBlur={() => (copied.value = false)}
    >
      {copied.value ? "Copied" : "Copy"}
    </button>
  );
}
