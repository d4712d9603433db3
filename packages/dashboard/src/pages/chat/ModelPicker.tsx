import { models } from "../../state/catalogue.ts";
import { model, sessionModels } from "../../state/conversation.ts";
import { attempt, notify } from "../../state/notices.ts";
import { agents, type Place } from "../../state/place.ts";
import { chosenModel, setModel } from "../../state/send.ts";

/** Chooses the model of the session on view; before its first message, of the session to come. */
export function ModelPicker({ here }: { here: Place }) {
  const agent = agents.value?.find(({ id }) => id === here.agentId);
  const chosen = chosenModel.value?.agentId === here.agentId ? chosenModel.value.id : undefined;
  const current = (here.sessionId ? model.value : chosen) ?? agent?.model ?? "";
  // An agent with its own models lists them once it has a session.
  const own = agent?.runtime_status.type === "acp" ? [] : models.value;
  const offered = (here.sessionId ? sessionModels.value : undefined) ?? own;
  // Without a catalogue there is nothing to choose from.
  if (offered.length === 0) return null;

  const choose = async (select: HTMLSelectElement) => {
    const { sessionId } = here;
    const id = select.value;
    if (!sessionId) {
      chosenModel.value = { agentId: here.agentId, id };
      return;
    }
    const changed = await attempt(() => setModel({ ...here, sessionId }, id));
    if (changed) notify(`This session now uses ${id}.`);
    else select.value = current;
  };

  const listed = offered.some(({ id }) => id === current);
  return (
    <label class="model-picker">
      <span class="visually-hidden">Model of this session</span>
      <select class="input" value={current} onChange={(event) => choose(event.currentTarget)}>
        {!listed && <option value={current}>{current || "Agent's own model"}</option>}
        {offered.map(({ id, name }) => (
          <option key={id} value={id}>
            {name || id}
          </option>
        ))}
      </select>
    </label>
  );
}
