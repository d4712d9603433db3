import { Icon } from "../components/Icon.tsx";
import { announcement, dismiss, notices } from "../state/notices.ts";

/** Sentences about what went wrong, and the line that only screen readers get. */
export function Notices() {
  return (
    <>
      <div class="notices" role="alert" aria-relevant="additions">
        {notices.value.map(({ id, kind, text }) => (
          <p key={id} class={`notice ${kind}`}>
            <span>{text}</span>
            <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
              <Icon name="close" />
            </button>
          </p>
        ))}
      </div>
      <p class="visually-hidden" role="status">
        {announcement.value}
      </p>
    </>
  );
}
