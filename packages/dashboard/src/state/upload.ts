import { MAX_MESSAGE_FILES } from "@agent-gateway/contract";
import { signal } from "@preact/signals";
import { client } from "../api/client.ts";
import { report } from "./notices.ts";

/** A file for the next message. */
export interface Upload {
  id: number;
  agentId: string;
  name: string;
  type: string;
  /** Undefined while it is on its way. */
  mediaPath: string | undefined;
}

export const ACCEPTED = "image/*,application/pdf";

export const uploads = signal<readonly Upload[]>([]);
let counter = 0;

/** Uploads files for the next message; one that the gateway refuses is reported and left out. */
export async function addUploads(agentId: string, files: readonly File[]): Promise<void> {
  const room = Math.max(MAX_MESSAGE_FILES - uploads.value.length, 0);
  await Promise.all(files.slice(0, room).map((file) => addUpload(agentId, file)));
}

async function addUpload(agentId: string, file: File): Promise<void> {
  const id = ++counter;
  const name = file.name || "pasted image";
  uploads.value = [...uploads.value, { id, agentId, name, type: file.type, mediaPath: undefined }];
  try {
    const { mediaPath } = await client.call("uploadMedia", {
      params: { agentId },
      body: file,
      headers: {
        "content-type": file.type || "application/octet-stream",
        "x-filename": encodeURIComponent(name),
      },
    });
    uploads.value = uploads.value.map((upload) => (upload.id === id ? { ...upload, mediaPath } : upload));
  } catch (error) {
    removeUpload(id);
    report(error);
  }
}

export function removeUpload(id: number): void {
  uploads.value = uploads.value.filter((upload) => upload.id !== id);
}
