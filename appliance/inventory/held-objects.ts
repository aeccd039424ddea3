// Stored objects of sources that are not being checked, as entries for the cross-checks.

import type { CatalogueKind, Inventory } from '../domain/inventory.ts';
import type { Machine, MachineSpec } from '../domain/machine.ts';
import { sameValue } from './difference.ts';
import type { Entry, NodeDraft, Place } from './drafts.ts';

type Named = { readonly name: string | undefined };

export class HeldObjects {
  readonly #held: Inventory | undefined;
  readonly #replaced: ReadonlySet<string>;
  readonly #specs: ReadonlyMap<string | undefined, MachineSpec>;

  /** `replaced`: sources whose stored objects will be replaced or removed. */
  constructor(held: Inventory | undefined, replaced: readonly string[]) {
    this.#held = held;
    this.#replaced = new Set(replaced);
    this.#specs = new Map(held?.machines.map(({ spec }) => [spec.hostname, spec]));
  }

  /** A redeclared object moves to its new source; the old declaration is not a conflict. */
  catalogue<T extends Named>(
    kind: CatalogueKind,
    values: readonly T[] | undefined,
    declared: readonly Entry<Named>[],
  ): Entry<T>[] {
    const again = new Set(declared.map(({ draft }) => draft.name));
    return (values ?? []).flatMap((draft) => {
      const source = this.#held?.sources.get(`${kind}/${draft.name}`) ?? '';
      if (again.has(draft.name) || this.#replaced.has(source)) return [];
      return [{ at: heldPlace(source, `${kind} ${draft.name}`), draft }];
    });
  }

  /**
   * The stored spec if the declaration equals it. After an edit nearly all nodes are unchanged: ten thousand new objects need
   * not be kept during the checks, and a comparison with the stored spec is an identity check.
   */
  sameNode(draft: NodeDraft): NodeDraft {
    const spec = this.#specs.get(draft.hostname);
    return spec && sameValue(spec, draft) ? spec : draft;
  }

  /** Discovered machines cause no conflicts: a declaration accepts them. */
  nodes(declared: readonly Entry<NodeDraft>[]): Entry<NodeDraft>[] {
    const again = new Set(declared.map(({ draft }) => draft.hostname));
    return (this.#held?.machines ?? []).flatMap((machine) => {
      const { spec, source } = machine;
      const compared = !isUndeclared(machine) && !again.has(spec.hostname) && !this.#replaced.has(source);
      return compared ? [{ at: heldPlace(source, `node ${spec.hostname}`), draft: spec }] : [];
    });
  }
}

/** No source has declared it yet, even if it was accepted by hand. */
export const isUndeclared = ({ source, lifecycle }: Machine): boolean =>
  source === 'network' || lifecycle.state === 'discovered';

const heldPlace = (source: string, path: string): Place => ({ file: `stored from ${source}`, path, held: true });
