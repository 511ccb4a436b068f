/** Asks for a token where the server lets nobody in without one. */
import { useState, type FormEvent, type ReactNode } from 'react';
import { t } from './strings';

export function SignIn({ isWrong, onToken }: { readonly isWrong: boolean; readonly onToken: (token: string) => void }): ReactNode {
  const [token, setToken] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token.trim() !== '') onToken(token.trim());
  };
  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <h1>{t.signIn}</h1>
        <p className="muted">{t.signInLead}</p>
        <label htmlFor="token">{t.token}</label>
        <input id="token" type="password" autoComplete="off" value={token} aria-describedby="token-hint" aria-invalid={isWrong} onChange={(event) => setToken(event.target.value)} />
        <p id="token-hint" className="hint">{t.tokenHint}</p>
        {isWrong && <p role="alert" className="alert">{t.tokenWrong}</p>}
        <button type="submit" className="primary">{t.signIn}</button>
      </form>
    </main>
  );
}
