/** What an owner of agents may still do, and what it may not. */
export const fences: Record<string, string> = {
  "FENCE-1":
    "What is stored of an agent beside its turns (shares, planned jobs) or in slices (removals) takes effect only under the fence of its owner.",
  "FENCE-2": "Agents that are taken in a row begin together: taking many is not quadratic in their number.",
};
