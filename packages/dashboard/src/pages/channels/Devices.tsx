import { ACCOUNT_ID, MAX_ACCOUNT_ID_CHARS, PHONE_NUMBER } from "@agent-gateway/contract";
import { ask } from "../../components/Dialog.tsx";
import {
  addDevice,
  type Device,
  linkDevice,
  type Policy,
  pairDevice,
  removeDevice,
  unlinkDevice,
} from "../../state/channels.ts";
import { attempt } from "../../state/notices.ts";
import { AllowedList } from "./AllowedList.tsx";
import { PolicyForm } from "./PolicyForm.tsx";

const STATUS = {
  unlinked: "not linked",
  pending_scan: "waiting for the phone",
  linked: "linked",
  reconnecting: "reconnecting",
} as const;

type Rule = Policy["dmPolicy"];
const rule = (value: string | null): Rule => (value === "open" || value === "disabled" ? value : "allowlist");

const policyOf = (device: Device): Policy => ({
  dmPolicy: rule(device.dm_policy),
  dmAllowlist: device.dm_allowlist,
  pairing: device.pairing,
  groupPolicy: rule(device.group_policy),
  groupAllowlist: device.group_allowlist,
  requireMention: device.require_mention ?? true,
});

/** The linked numbers of `devicechat`. */
export function Devices({ agentId, devices }: { agentId: string; devices: readonly Device[] }) {
  const add = async () => {
    const id = await ask({
      title: "Add an account",
      text: "Each account links one phone number.",
      field: {
        label: "Account name",
        value: "",
        maxLength: MAX_ACCOUNT_ID_CHARS,
        pattern: ACCOUNT_ID,
        hint: "Lowercase letters, digits, - and _; not “default”",
      },
      action: "Add",
    });
    if (id !== undefined) await addDevice(agentId, id);
  };
  return (
    <>
      {devices.map((device) => (
        <DevicePanel key={device.id} agentId={agentId} device={device} last={devices.length === 1} />
      ))}
      <button type="button" class="link-button" onClick={() => attempt(add)}>
        Add an account…
      </button>
    </>
  );
}

function DevicePanel({ agentId, device, last }: { agentId: string; device: Device; last: boolean }) {
  const { id, label, number, live } = device;
  const status = live?.status ?? device.status;
  const name = label ? `${label} (${id})` : id;
  const policy = policyOf(device);
  const unlink = async () => {
    const sure = await ask({
      title: "Unlink the number?",
      text: `${number ?? name} will be logged out and its keys deleted. To use it again, scan a new code with the phone.`,
      action: "Unlink",
      danger: true,
    });
    if (sure !== undefined) await unlinkDevice(agentId, id);
  };
  const remove = async () => {
    const sure = await ask({
      title: "Remove the account?",
      text: `“${name}” will be logged out and removed from the configuration.`,
      action: "Remove",
      danger: true,
    });
    if (sure !== undefined) await removeDevice(agentId, id);
  };
  const pair = async () => {
    const phone = await ask({
      title: "Link with a code",
      text: "You will enter the code on the phone, under Linked devices, Link with phone number.",
      field: {
        label: "Phone number",
        value: "",
        maxLength: 24,
        pattern: PHONE_NUMBER,
        hint: "International format, such as +66 81 234 5678",
      },
      action: "Get the code",
    });
    if (phone !== undefined) await pairDevice(agentId, id, phone);
  };
  return (
    <section class="device" aria-label={`Account ${id}`}>
      <p class="device-head">
        <strong>{name}</strong>
        <span>
          {number ? `${number}, ` : ""}
          {STATUS[status]}
          {live?.loggedOut && status === "unlinked" ? "; the phone ended the link" : ""}
        </span>
      </p>
      {live?.qr && (
        <figure class="qr">
          <img src={live.qr} alt={`QR code that links ${id}`} width={264} height={264} />
          <figcaption class="hint">
            Scan it with your phone: Settings, Linked devices, Link a device.
          </figcaption>
        </figure>
      )}
      {live?.pairingCode && (
        <p class="pairing-code" role="status">
          Enter this code on the phone: <code>{live.pairingCode}</code>
        </p>
      )}
      <p class="device-actions">
        {status === "unlinked" || status === "pending_scan" ? (
          <>
            <button
              type="button"
              class="button primary"
              onClick={() => attempt(() => linkDevice(agentId, id))}
            >
              {status === "pending_scan" ? "New QR code" : "Link with QR code"}
            </button>
            <button type="button" class="button" onClick={() => attempt(pair)}>
              Link with a code…
            </button>
          </>
        ) : (
          <button type="button" class="button" onClick={() => attempt(unlink)}>
            Unlink…
          </button>
        )}
        {!last && (
          <button type="button" class="button" onClick={() => attempt(remove)}>
            Remove account…
          </button>
        )}
      </p>
      <PolicyForm agentId={agentId} channel="devicechat" account={id} policy={policy} />
      <AllowedList agentId={agentId} channel="devicechat" account={id} policy={policy} />
    </section>
  );
}
