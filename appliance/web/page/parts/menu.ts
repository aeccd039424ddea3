// A menu that opens from a button: arrow keys, Escape, closes when the focus leaves.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Child, classes, html } from '../html.ts';
import { icon } from './icon.ts';

export interface MenuItem {
  readonly label: string;
  readonly run?: () => void;
  readonly href?: string;
  /** Shown below the label. */
  readonly note?: string;
  /** Why it cannot be used now; it stays visible. */
  readonly disabled?: string | null;
  readonly danger?: boolean;
  readonly checked?: boolean;
}

interface MenuProps {
  readonly label: Child;
  readonly name: string;
  readonly items: readonly (MenuItem | null)[];
  readonly align?: 'left' | 'right';
  readonly kind?: string;
}

export function Menu({ label, name, items, align = 'right', kind = 'quiet' }: MenuProps): VNode {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const entries = (): HTMLElement[] => [...(root.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
  useEffect(() => {
    if (!open) return;
    entries()[0]?.focus();
    const outside = (event: Event): void => {
      if (!root.current?.contains(event.target as globalThis.Node)) setOpen(false);
    };
    addEventListener('pointerdown', outside);
    return () => removeEventListener('pointerdown', outside);
  }, [open]);
  const close = (): void => {
    setOpen(false);
    root.current?.querySelector('button')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!open) return;
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === 'Escape') close();
    else if (event.key === 'Tab') setOpen(false);
    else if (to !== undefined) all.at(to % all.length)?.focus();
    else return;
    if (event.key !== 'Tab') event.preventDefault();
    event.stopPropagation();
  };
  return html`<div class="menu" ref=${root} onKeyDown=${onKeyDown}>
    <button
      type="button"
      class=${kind}
      aria-haspopup="menu"
      aria-expanded=${open ? 'true' : 'false'}
      aria-label=${typeof label === 'string' ? undefined : name}
      onClick=${() => setOpen(!open)}
    >
      ${label}${icon('chevron')}
    </button>
    ${
      open &&
      html`<div class=${classes('menu-list', align)} role="menu" aria-label=${name}>
      ${items.map((item) => (item === null ? html`<hr />` : entry(item, close)))}
    </div>`
    }
  </div>`;
}

function entry({ label, run, href, note, disabled, danger, checked }: MenuItem, close: () => void): VNode {
  const text = html`<span class="menu-label">${label}</span>${
    (disabled ?? note) && html`<span class="menu-note">${disabled ?? note}</span>`
  }`;
  const kind = classes('menu-item', danger && 'danger', disabled && 'disabled');
  if (href !== undefined && !disabled) {
    return html`<a class=${kind} role="menuitem" tabindex="-1" href=${href} onClick=${close}>${text}</a>`;
  }
  const act = (): void => {
    if (disabled) return;
    close();
    run?.();
  };
  const role = checked === undefined ? {} : { role: 'menuitemradio', 'aria-checked': checked ? 'true' : 'false' };
  return html`<button
    type="button"
    class=${kind}
    role="menuitem"
    ...${role}
    tabindex="-1"
    aria-disabled=${disabled ? 'true' : 'false'}
    onClick=${act}
  >
    ${text}${checked ? icon('check') : null}
  </button>`;
}
