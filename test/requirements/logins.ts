/** Dashboard logins over restarts. */
export const logins = {
  "LOGIN-1":
    "a dashboard login survives a restart and a crash, with the time of its last use; one that expired, was logged out or lost its key does not come back",
  "LOGIN-2":
    "a login that cannot be stored works until the gateway ends, a logout that cannot be stored says so, and a closed login never leaves a row",
  "LOGIN-3": "a logout also ends the streams, WebSockets and tickets of its login",
};
