import { Icon } from "../components/Icon.tsx";
import { diskLow } from "../state/health.ts";
import { announcement, dismiss, notices } from "../state/notices.ts";

/** Stands above every view while the gateway can store nothing new. */
export function DiskBanner() {
  if (!diskLow.value) return null;
  return (
    <p class="notice error banner" role="alert">
      The gateway's disk is almost full. Replies are still kept, but new messages and uploads are refused
      until you free some space.
    </p>
  );
}

/** Error messages, and the line for screen readers only. */
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
