/** The dashboard's navigation and pages. */
export const dashboardPages = {
  "DASH-NAV-1":
    "every page is a link of one navigation: a column beside the page where there is room, else a drawer that takes the keyboard, closes with Escape and gives the keyboard back; the keyboard can pass the links",
  "DASH-NAV-2":
    "a page that has been renamed is found at its old address, and an unknown address leads to the first page",
  "DASH-NAV-3": "a page's module is loaded by the first look at it, and a page that cannot be loaded says so",
  "MON-ACT-1":
    "/status?include=activity tells messages, replies, turns, their duration and the memory of the last 24 hours by steps of five minutes, counted since the start",
  "DASH-AXE-1":
    "axe finds nothing serious on any page, on wide and narrow screens, light and dark, and no page has an error in the console",
};
