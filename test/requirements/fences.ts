/** What an owner of agents may still do, and what it may not. */
export const fences: Record<string, string> = {
  "FENCE-1":
    "What is stored of an agent beside its turns (shares, planned jobs) or in slices (removals) takes effect only under the fence of its owner.",
  "FENCE-2": "Agents that are taken in a row begin together: taking many is not quadratic in their number.",
  "FENCE-3":
    "A gateway that could not renew for 60 % of the lease closes its connections and sends nothing, also where it knows of no other: one may have come unseen. It connects again once a reading shows that the agents are still its own.",
};
