/** The dashboard's page of connectors. */
export const dashboardConnectors = {
  "DASH-CONN-1":
    "the page of connectors shows what each one lacks or where it fails; connectors are added, changed, tested, switched for each agent, disconnected and removed there",
  "DASH-CONN-2": "a pasted secret leaves the form when it is sent, and the page never shows it",
  "DASH-CONN-3":
    "the page offers the address of a sign-in as a link, and shows at once that the sign-in worked, or why it could not begin or failed",
} as const;
