// What the store holds beside the sources that are being checked, as entries that the cross-checks can compare with.

import type { CatalogueKind, Inventory } from '../domain/inventory.ts';
import type { Machine, MachineSpec } from '../domain/machine.ts';
import { sameValue } from './difference.ts';
import type { Entry, NodeDraft, Place } from './drafts.ts';

type Named = { readonly name: string | undefined };

export class HeldObjects {
  readonly #held: Inventory | undefined;
  readonly #replaced: ReadonlySet<string>;
  readonly #specs: ReadonlyMap<string | undefined, MachineSpec>;

  /** `replaced`: sources whose objects are about to be declared anew, or to go. */
  constructor(held: Inventory | undefined, replaced: readonly string[]) {
    this.#held = held;
    this.#replaced = new Set(replaced);
    this.#specs = new Map(held?.machines.map(({ spec }) => [spec.hostname, spec]));
  }

  /** An object that is declared again moves to its new source; the old declaration is no rival. */
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
   * The node as it is held, when it is declared just so. After an edit nearly all are: of ten thousand new ones none is left
   * to be carried through the checks, and whoever compares them with what is held sees at once that they are the same.
   */
  sameNode(draft: NodeDraft): NodeDraft {
    const spec = this.#specs.get(draft.hostname);
    return spec && sameValue(spec, draft) ? spec : draft;
  }

  /** Machines that merely showed up claim nothing: declaring one is how it is taken on. */
  nodes(declared: readonly Entry<NodeDraft>[]): Entry<NodeDraft>[] {
    const again = new Set(declared.map(({ draft }) => draft.hostname));
    return (this.#held?.machines ?? []).flatMap((machine) => {
      const { spec, source } = machine;
      const stands = !showedUpByItself(machine) && !again.has(spec.hostname) && !this.#replaced.has(source);
      return stands ? [{ at: heldPlace(source, `node ${spec.hostname}`), draft: spec }] : [];
    });
  }
}

/** Nobody has declared it yet, also when it was accepted by hand since then. */
export const showedUpByItself = ({ source, lifecycle }: Machine): boolean =>
  source === 'network' || lifecycle.state === 'discovered';

const heldPlace = (source: string, path: string): Place => ({ file: `held from ${source}`, path, held: true });
