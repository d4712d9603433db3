import { mediaUrl } from "../../api/client.ts";
import { Icon } from "../../components/Icon.tsx";
import { removeUpload, uploads } from "../../state/upload.ts";

/** Files that go with the next message. */
export function UploadList({ agentId }: { agentId: string }) {
  const own = uploads.value.filter((upload) => upload.agentId === agentId);
  if (own.length === 0) return null;
  return (
    <ul class="uploads" aria-label="Attachments of the next message">
      {own.map(({ id, name, type, mediaPath }) => (
        <li key={id} class="upload">
          {mediaPath && type.startsWith("image/") ? (
            <img src={mediaUrl(agentId, mediaPath)} alt="" />
          ) : (
            <Icon name="file" />
          )}
          <span class="upload-name">{name}</span>
          {!mediaPath && <span class="busy">uploading</span>}
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove ${name}`}
            onClick={() => removeUpload(id)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
