// A file as a renderer made it: where it belongs, what it says, and who may read it.

export interface RenderedFile {
  /** Relative, with slashes, below the folder that everything is written to. */
  readonly path: string;
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
  /** Must not reach a log, a version control system, the Nix store or anybody but its node. */
  readonly secret: boolean;
}
