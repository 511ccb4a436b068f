/** What an agent wrote, as a safe part of Markdown: no HTML, no images, links that lead only where they say. */
import { lexer, type Token, type Tokens } from 'marked';
import type { ReactNode } from 'react';

const SAFE = /^(https?:|mailto:)/i;

export function Markdown({ text }: { readonly text: string }): ReactNode {
  return <div className="md">{blocks(lexer(text, { gfm: true, breaks: true }))}</div>;
}

/** One line, such as a question: only what stands within a line. */
export function InlineMarkdown({ text }: { readonly text: string }): ReactNode {
  const [first] = lexer(text, { gfm: true, breaks: true });
  return first?.type === 'paragraph' && first.raw.trim() === text.trim() ? inline((first as Tokens.Paragraph).tokens) : text;
}

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, key) => <Block key={key} token={token} />);
}

function Block({ token }: { readonly token: Token }): ReactNode {
  switch (token.type) {
    case 'space':
      return null;
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'heading':
      return <p><strong>{inline((token as Tokens.Heading).tokens)}</strong></p>;
    case 'code':
      return <pre tabIndex={0}><code>{(token as Tokens.Code).text}</code></pre>;
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case 'list':
      return <List list={token as Tokens.List} />;
    case 'hr':
      return <hr />;
    case 'text':
      return <p>{inline((token as Tokens.Text).tokens ?? [token])}</p>;
    default:
      return <p>{token.raw}</p>;
  }
}

function List({ list }: { readonly list: Tokens.List }): ReactNode {
  const items = list.items.map((item, key) => (
    <li key={key}>{item.tokens.map((token, at) => (token.type === 'text' ? <span key={at}>{inline((token as Tokens.Text).tokens ?? [token])}</span> : <Block key={at} token={token} />))}</li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function inline(tokens: readonly Token[] | undefined): ReactNode {
  return (tokens ?? []).map((token, key) => <Inline key={key} token={token} />);
}

function Inline({ token }: { readonly token: Token }): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case 'em':
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case 'del':
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Link link={token as Tokens.Link} />;
    case 'text':
    case 'escape': {
      const nested = (token as Tokens.Text).tokens;
      return nested ? inline(nested) : (token as Tokens.Text).text;
    }
    // HTML and images stay the text that they are.
    default:
      return token.raw;
  }
}

function Link({ link }: { readonly link: Tokens.Link }): ReactNode {
  if (!SAFE.test(link.href)) return inline(link.tokens);
  return <a href={link.href} target="_blank" rel="noopener noreferrer">{inline(link.tokens)}</a>;
}
