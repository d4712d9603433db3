import type { Command } from "../../api/types.ts";

/** Slash commands to choose from; the text field above keeps the focus and moves the choice. */
export function SuggestionList({
  commands,
  chosen,
  onChoose,
}: {
  commands: readonly Command[];
  chosen: number;
  onChoose: (index: number) => void;
}) {
  return (
    <div
      id="suggestions"
      class="suggestions"
      role="listbox"
      aria-label="Commands"
      hidden={commands.length === 0}
    >
      {commands.map(({ name, usage, description }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles the keys.
        // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the text field (aria-activedescendant).
        <div
          key={name}
          id={`suggestion-${index}`}
          class="suggestion"
          role="option"
          aria-selected={index === chosen}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onChoose(index)}
        >
          <code>{usage}</code>
          <span>{description}</span>
        </div>
      ))}
    </div>
  );
}
