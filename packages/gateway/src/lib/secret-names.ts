const SECRET =
  /(?:token|secret|password|passwd|passphrase|credentials?|authorization|cookie|api[-_]?key|private[-_]?key)s?$/i;

/** True if a field, variable or header of this name contains something that must stay secret. */
export function isSecretName(name: string): boolean {
  return /^(?:key|keys|pwd|auth)$/i.test(name) || SECRET.test(name);
}
