import { describe, expect, it } from "vitest";
import { createRouteTree } from "../../../packages/gateway/src/http/route-tree.ts";

function treeOf(...routes: string[]) {
  const tree = createRouteTree<string>(10);
  for (const route of routes) {
    const [method, path] = route.split(" ") as [string, string];
    tree.add(method, path, route);
  }
  return (method: string, path: string) => {
    const found = tree.find(method, path);
    return found && [found.value, found.params];
  };
}

describe("the tree of paths", () => {
  it("takes fixed segments before parameters, and parameters before the rest", () => {
    const find = treeOf("GET /a/:id", "GET /a/new", "GET /a/:id/b", "GET /*");
    expect(find("GET", "/a/new")).toEqual(["GET /a/new", {}]);
    expect(find("GET", "/a/old")).toEqual(["GET /a/:id", { id: "old" }]);
    expect(find("GET", "/a/new/b")).toEqual(["GET /a/:id/b", { id: "new" }]);
    expect(find("GET", "/a/new/c")).toEqual(["GET /*", { "*": "a/new/c" }]);
    expect(find("GET", "/")).toEqual(["GET /*", { "*": "" }]);
  });

  it("keeps methods apart, each with names of its own for the same place", () => {
    const find = treeOf("GET /a/:id", "DELETE /a/:name", "GET /a/new");
    expect(find("DELETE", "/a/new")).toEqual(["DELETE /a/:name", { name: "new" }]);
    expect(find("GET", "/a/1")).toEqual(["GET /a/:id", { id: "1" }]);
    expect(find("PUT", "/a/1")).toBeUndefined();
  });

  it("decodes each segment once, after the path is split", () => {
    const find = treeOf("GET /a/:id", "GET /files/*");
    expect(find("GET", "/%61/x%2Fy%2520")).toEqual(["GET /a/:id", { id: "x/y%20" }]);
    expect(find("GET", "/files/d/e%3Ff")).toEqual(["GET /files/*", { "*": "d/e?f" }]);
  });

  it("finds nothing below or beside what there is, nor under a parameter that is too long", () => {
    const find = treeOf("GET /a/:id");
    for (const path of ["/a", "/a/1/", "/a/1/2", "/A/1", `/a/${"x".repeat(11)}`, ""])
      expect(find("GET", path), path).toBeUndefined();
    expect(find("GET", "/a/")).toEqual(["GET /a/:id", { id: "" }]);
    expect(find("GET", "/constructor/__proto__")).toBeUndefined();
  });
});
