/** `code` of the error that `checkImport` ends with; its `data` is a {@link BadLine}. */
export const BAD_LINE = "BAD_LINE";
export interface BadLine {
  line: number;
  path: string;
  message: string;
}
