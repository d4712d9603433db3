/**
 * Makes style sheets and properties of the styles that `@xterm/xterm` writes as text, into elements and attributes:
 * the page's policy forbids those. Without this, the policy would have to allow every inline style. It holds for all
 * elements that are made until the returned function is called.
 */
export function strictStyles(): () => void {
  const sheets = new Set<CSSStyleSheet>();
  const drop = (sheet: CSSStyleSheet) => {
    sheets.delete(sheet);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
  };
  const make = (name: string): HTMLElement => Document.prototype.createElement.call(document, name);
  const styleElement = (): HTMLElement => {
    // Even an empty style element would be a breach.
    const element = make("template");
    const sheet = new CSSStyleSheet();
    sheets.add(sheet);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text) });
    element.remove = () => {
      drop(sheet);
      Element.prototype.remove.call(element);
    };
    return element;
  };
  const own = (name: string): HTMLElement => {
    if (name === "style") return styleElement();
    const element = make(name);
    element.setAttribute = (attribute: string, value: string) => {
      if (attribute === "style") element.style.cssText = value;
      else Element.prototype.setAttribute.call(element, attribute, value);
    };
    return element;
  };
  const before = Object.getOwnPropertyDescriptor(document, "createElement");
  Object.defineProperty(document, "createElement", { value: own, configurable: true });
  return () => {
    for (const sheet of sheets) drop(sheet);
    if (before) Object.defineProperty(document, "createElement", before);
    else Reflect.deleteProperty(document, "createElement");
  };
}
