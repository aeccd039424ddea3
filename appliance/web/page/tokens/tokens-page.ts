// API tokens: create, show the secret once, revoke. For administrators.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../../contract/wire.ts';
import { ROLES, type Role } from '../../../domain/token.ts';
import { asFailure, call, type Failure } from '../api.ts';
import { type Child, html } from '../html.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { icon } from '../parts/icon.ts';
import { Empty, FailureNotice } from '../parts/notices.ts';
import { Card, PageFrame, Shown, Table } from '../parts/page-frame.ts';
import { Ago } from '../parts/time-text.ts';
import { confirmAction } from '../shell/dialog.ts';
import { toastDone } from '../shell/toasts.ts';
import { useRead } from '../use-read.ts';

type Token = Answer<'listTokens'>['tokens'][number];

const ROLE_WORDS: Readonly<Partial<Record<Role, string>>> = {
  viewer: 'reads everything but secrets',
  tech: 'power, identify light and console of racked machines',
  operator: 'works with nodes: commission, deploy, release',
  admin: 'everything, also tokens and removals',
};

export function TokensPage(): VNode {
  const read = useRead('listTokens', {});
  return html`<${PageFrame}
    title="Tokens"
    about="Who may use the API and this page. A token's name is the name of its holder in the audit log."
  >
    <${NewToken} done=${read.reload} />
    <${Card} title="Tokens" plain>
      <${Shown}
        read=${read}
        what="tokens"
        show=${({ tokens }: Answer<'listTokens'>) =>
          tokens.length === 0
            ? html`<${Empty} title="There is no token" />`
            : html`<${Table} label="Tokens" head=${['Name', 'Role', 'State', 'Created', 'Ends', 'Action']}>
                ${tokens.map((token) => tokenRow(token, read.reload))}
              <//>`}
      />
    <//>
  <//>`;
}

function tokenRow(token: Token, reload: () => void): Child {
  const { id, name, role, usable, created_at, expires_at, revoked_at } = token;
  const state = usable ? 'usable' : revoked_at === null ? 'expired' : 'revoked';
  const revoke = (): void =>
    confirmAction({
      title: `Revoke the token ${name}?`,
      body: html`<p>Programs and people that use it are refused at once. Sessions that it opened end. This cannot be undone.</p>`,
      action: 'Revoke the token',
      danger: true,
      run: async () => {
        await call('revokeToken', { params: { token: id } });
        toastDone(`the token ${name} is revoked`);
        reload();
      },
    });
  return html`<tr key=${id}>
    <td>${name}</td>
    <td>${role}</td>
    <td class=${usable ? 'tone-good' : 'tone-neutral'}>${icon(usable ? 'check' : 'minus')} ${state}</td>
    <td><${Ago} time=${created_at} /></td>
    <td>${expires_at === null ? html`<span class="muted">never</span>` : html`<${Ago} time=${expires_at} />`}</td>
    <td>
      ${usable && html`<button type="button" class="small danger" aria-label=${`Revoke ${name}`} onClick=${revoke}>Revoke…</button>`}
    </td>
  </tr>`;
}

const OFFERED = ROLES.filter((role) => ROLE_WORDS[role] !== undefined);

function NewToken({ done }: { done: () => void }): VNode {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [hours, setHours] = useState('');
  const [made, setMade] = useState<{ readonly name: string; readonly secret: string } | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setFailure(null);
    setMade(null);
    try {
      const answer = await call('createToken', {
        body: { name: name.trim(), role, ...(hours !== '' && { expires_in_hours: Number(hours) }) },
      });
      setMade({ name: answer.name, secret: answer.token });
      setName('');
      done();
    } catch (error) {
      setFailure(asFailure(error));
    }
  };
  const value = (event: Event): string => (event.target as HTMLInputElement).value;
  return html`<${Card} title="New token">
    <form class="site-filters" onSubmit=${submit}>
      <label class="field">
        <span>Name of its holder</span>
        <input required maxlength="64" autocomplete="off" value=${name} onInput=${(event: Event) => setName(value(event))} />
      </label>
      <label class="field">
        <span>Role</span>
        <select value=${role} onChange=${(event: Event) => setRole(value(event) as Role)}>
          ${OFFERED.map((each) => html`<option value=${each} key=${each}>${each}: ${ROLE_WORDS[each]}</option>`)}
        </select>
      </label>
      <label class="field">
        <span>Ends after hours (empty: never)</span>
        <input type="number" min="1" max="87600" value=${hours} onInput=${(event: Event) => setHours(value(event))} />
      </label>
      <button type="submit" class="primary" disabled=${name.trim() === ''}>Create the token</button>
    </form>
    ${failure && html`<${FailureNotice} failure=${failure} />`}
    ${
      made &&
      html`<div class="secret" role="status">
        <p><strong>The token of ${made.name}. It is shown only now:</strong></p>
        <p class="command"><code>${made.secret}</code><${CopyButton} text=${made.secret} label="Copy the token" /></p>
      </div>`
    }
  <//>`;
}
