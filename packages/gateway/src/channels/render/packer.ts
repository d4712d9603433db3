import type { Block } from "@agent-gateway/contract/markdown";
import { SEPARATOR, separator } from "./write.ts";

interface Piece {
  block: Pick<Block, "type" | "gap" | "quoted">;
  markdown: string;
  cost: number;
  /** A heading stays with what follows it. */
  leads: boolean;
}

/** Fills parts one after the other. Costs are rendered lengths. */
export function createPacker(limit: number) {
  const parts: string[] = [];
  let pieces: Piece[] = [];
  let used = 0;

  const costOf = (some: readonly Piece[]) => some.reduce((sum, piece) => sum + piece.cost + SEPARATOR, 0);
  function emit(taken: readonly Piece[]): void {
    let part = "";
    for (const [index, { block, markdown }] of taken.entries()) {
      const before = taken[index - 1];
      const between = before ? separator(before.block, block) : "";
      part += between === "\n\n" && before?.block.quoted && block.quoted ? "\n>\n" : between;
      part += markdown;
    }
    parts.push(part);
  }

  return {
    room: (): number => limit - used,
    /** True while the part is too short to be sent for the sake of a good break. */
    isSmall: (): boolean => used < limit / 4,
    add(block: Piece["block"], markdown: string, cost: number, leads = false): void {
      pieces.push({ block, markdown, cost, leads });
      used += cost + SEPARATOR;
    },
    /** Ends the part, but for headings at its end. Returns false when there was nothing to end. */
    flush(): boolean {
      if (pieces.length === 0) return false;
      const text = pieces.findLastIndex((piece) => !piece.leads) + 1;
      const carried = pieces.slice(text);
      const keep = text > 0 && costOf(carried) < limit / 4 ? carried : [];
      emit(pieces.slice(0, pieces.length - keep.length));
      pieces = keep;
      used = costOf(keep);
      return true;
    },
    end(): string[] {
      if (pieces.length > 0) emit(pieces);
      pieces = [];
      return parts;
    },
  };
}

export type Packer = ReturnType<typeof createPacker>;
