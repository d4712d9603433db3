/**
 * A document for `@xterm/xterm`, which writes its styles into elements and attributes: the page's policy forbids both
 * in text, and allows them as style sheets and properties. Without it the policy would have to allow every inline style.
 */
export function strictDocument(real: Document): { document: Document; dispose(): void } {
  const sheets = new Set<CSSStyleSheet>();
  const drop = (sheet: CSSStyleSheet) => {
    sheets.delete(sheet);
    real.adoptedStyleSheets = real.adoptedStyleSheets.filter((other) => other !== sheet);
  };
  const styleElement = (): HTMLElement => {
    const element = real.createElement("style");
    const sheet = new CSSStyleSheet();
    sheets.add(sheet);
    real.adoptedStyleSheets = [...real.adoptedStyleSheets, sheet];
    Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text) });
    element.remove = () => {
      drop(sheet);
      Element.prototype.remove.call(element);
    };
    return element;
  };
  const createElement = (name: string): HTMLElement => {
    if (name === "style") return styleElement();
    const element = real.createElement(name);
    element.setAttribute = (attribute: string, value: string) => {
      if (attribute === "style") element.style.cssText = value;
      else Element.prototype.setAttribute.call(element, attribute, value);
    };
    return element;
  };
  const document = new Proxy(real, {
    get(target, name) {
      if (name === "createElement") return createElement;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  return {
    document,
    dispose() {
      for (const sheet of sheets) drop(sheet);
    },
  };
}
