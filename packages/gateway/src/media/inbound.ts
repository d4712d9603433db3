import { GatewayError } from "@agent-gateway/contract";
import type { FileType } from "../lib/file-type.ts";

/** Extensions of files that a browser runs or that can contain script: HTML, XML, scripts and styles. */
const ACTIVE = new Set(
  (
    "htm html shtml phtml dhtml jhtml xhtml xht xhtm hta htc mht mhtml htmls " +
    "xml xsl xslt xsd xbl xul xaml rss atom rdf owl wsdl dtd ent svg svgz mml mathml kml gpx dae x3d xspf plist opf ncx " +
    "js mjs cjs jsx jse vbs vbe wsf wsh wsc sct wasm swf css webmanifest appcache manifest"
  ).split(" "),
);
/** Types that a browser runs, by content. */
const ACTIVE_TYPE = /^(?:text\/(?:html|xml)|image\/svg\+xml)$/;

/**
 * The extension to store an inbound file under: its own, if it is short, alphanumeric and not for anything that a
 * browser runs, else `bin`. For a file without a name, the extension of its content.
 */
export function inboundExtension(found: FileType, name: string | undefined): string {
  if (name === undefined) return ACTIVE_TYPE.test(found.mime) ? "bin" : found.ext;
  const given = /[^.]\.([A-Za-z0-9]{1,8})$/.exec(name.trim())?.[1]?.toLowerCase();
  if (given === undefined || ACTIVE.has(given) || /html|xml/.test(given)) return "bin";
  return given;
}

/** The extension to store an image under, by its content only. */
export function imageExtension(found: FileType): string {
  if (found.mime.startsWith("image/") && !ACTIVE_TYPE.test(found.mime)) return found.ext;
  throw new GatewayError("UNSUPPORTED_MEDIA_TYPE", "The content is not an image.");
}
