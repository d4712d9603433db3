export function misplacedGlobals(path: string, text: string): string[];
