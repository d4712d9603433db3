/** The condition, after another, that limits a statement to an agent, and its parameter; nothing for all agents. */
export const ofAgent = (agentId: string | undefined): string =>
  agentId === undefined ? "" : "AND agent_id = ?";
export const given = (agentId: string | undefined): string[] => (agentId === undefined ? [] : [agentId]);
