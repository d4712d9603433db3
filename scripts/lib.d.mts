export const root: string;
export function productNode(): string;
export function run(command: string, args: readonly string[], options?: object): Promise<number>;
export function install(options: { dev: boolean }): Promise<void>;
export function build(): Promise<void>;
