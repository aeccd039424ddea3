// A rendered file: its path, content and permissions.

export interface RenderedFile {
  /** Relative, with slashes, to the folder that is written. */
  readonly path: string;
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
  /** Must not reach a log, a version control system, the Nix store or anyone but its node. */
  readonly secret: boolean;
}
