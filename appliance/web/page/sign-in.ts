// The sign-in form: a token, or a one-time code in the fragment of the link, which never reaches a server log.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { asFailure, type Failure } from './api.ts';
import { html } from './html.ts';
import { icon } from './parts/icon.ts';
import { FailureNotice } from './parts/notices.ts';
import { navigate, place } from './router.ts';
import { session, signIn } from './session.ts';

/** Taken once, and removed from the address bar and the history. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

export function SignInPage(): VNode {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const enter = async (proof: { token: string } | { code: string }): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      await signIn(proof);
      if (place.peek().page === 'signIn') navigate(place.peek().query.get('to') ?? '/', 'replace');
    } catch (error) {
      setFailure(asFailure(error));
      setBusy(false);
    }
  };
  useEffect(() => {
    const code = takeCode();
    if (code !== null) void enter({ code });
  }, []);
  const out = session.value.state === 'out' ? session.value.reason : null;
  return html`<main class="sign-in">
    <form
      class="card"
      onSubmit=${(event: Event) => {
        event.preventDefault();
        void enter({ token });
      }}
    >
      <h1>${icon('anvil', 'solid')}Coldiron</h1>
      ${out !== null && html`<p class="notice" role="status">${out}</p>`}
      <label class="field">
        <span>API token</span>
        <input
          type="password"
          name="token"
          autocomplete="current-password"
          autofocus
          required
          spellcheck=${false}
          value=${token}
          onInput=${(event: InputEvent) => setToken((event.target as HTMLInputElement).value)}
        />
      </label>
      ${failure && html`<${FailureNotice} failure=${failure} />`}
      <button type="submit" class="primary" disabled=${busy || token.trim() === ''}>
        ${busy ? 'Signing in …' : 'Sign in'}
      </button>
      <p class="muted">
        No token? On the appliance, <code>coldiron ui</code> prints a link that signs you in, and
        ${' '}<code>coldiron api-token create NAME --role ROLE</code> makes a token.
      </p>
    </form>
  </main>`;
}
