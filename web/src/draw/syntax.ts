// syntax.ts -- source lines with their words coloured: C, C++, Rust, Fortran, Python. By words alone,
// line by line but for comments and strings that go on: good enough to read by.
// SPDX-License-Identifier: Apache-2.0

export type TokenKind = "" | "comment" | "string" | "keyword" | "number" | "directive";

export interface Token {
  text: string;
  kind: TokenKind;
}

interface Language {
  keywords: Set<string>;
  lineComment: RegExp;
  block: [string, string] | null; // comments over several lines
  long: string[]; // quotes over several lines
  ignoreCase: boolean;
}

const words = (text: string) => new Set(text.split(" "));
const C_WORDS = "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false NULL";
const CPP_WORDS = `${C_WORDS} alignas alignof and catch class concept consteval constexpr constinit co_await co_return co_yield decltype delete dynamic_cast explicit export final friend mutable namespace new noexcept not nullptr operator or override private protected public reinterpret_cast requires static_assert static_cast template this thread_local throw try typeid typename using virtual`;
const C: Language = { keywords: words(CPP_WORDS), lineComment: /^\/\//, block: ["/*", "*/"], long: [], ignoreCase: false };
const RUST: Language = { ...C, keywords: words("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while i8 i16 i32 i64 u8 u16 u32 u64 usize isize f32 f64 bool str String Vec Box Option Result") };
const FORTRAN: Language = { keywords: words("allocatable allocate block call case character class close common complex contains cycle data deallocate dimension do double else elseif end enddo endif entry exit function goto if implicit in inout integer intent interface intrinsic logical module none nullify only open optional out parameter pointer precision print private procedure program public pure read real recursive result return save select stop subroutine target then type use where while write"), lineComment: /^!/, block: null, long: [], ignoreCase: true };
const PYTHON: Language = { keywords: words("and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield"), lineComment: /^#/, block: null, long: ['"""', "'''"], ignoreCase: false };

const BY_ENDING: [RegExp, Language][] = [[/\.rs$/i, RUST], [/\.(f|for|ftn|f77|f90|f95|f03|f08|f18)$/i, FORTRAN], [/\.(py|pyx|pyi|pxd)$/i, PYTHON]];

export function languageOf(path: string): Language {
  return BY_ENDING.find(([ending]) => ending.test(path))?.[1] ?? C;
}

const NOTHING_OPEN: [string, TokenKind] = ["", ""];

/** Colours lines: what a line leaves open goes on in the next. How each line begins is worked out as
 * far as it is asked for, and kept. */
export class Highlighter {
  private open = ""; // what ends the comment or string that is open
  private openKind: TokenKind = "";
  private readonly begins: [string, TokenKind][] = [NOTHING_OPEN];

  private readonly openers: string[];

  constructor(private readonly language: Language, private readonly lines: string[]) {
    this.openers = language.block ? [language.block[0], ...language.long] : language.long;
  }

  /** Line i, from 0. */
  at(i: number): Token[] {
    for (let next = this.begins.length; next <= i; next++) {
      // Most lines neither begin nor end anything.
      if (!this.begins[next - 1]![0] && !this.openers.some((o) => this.lines[next - 1]!.includes(o))) this.begins[next] = NOTHING_OPEN;
      else this.read(next - 1);
    }
    return this.read(i);
  }

  private read(i: number): Token[] {
    [this.open, this.openKind] = this.begins[i]!;
    const tokens = this.line(this.lines[i]!);
    this.begins[i + 1] = [this.open, this.openKind];
    return tokens;
  }

  private line(text: string): Token[] {
    const tokens: Token[] = [];
    let rest = text;
    if (this.open) rest = this.finish(tokens, rest, 0);
    else if (/^\s*#\s*\w/.test(rest) && this.language.block) {
      tokens.push({ text: rest, kind: "directive" });
      rest = "";
    }
    while (rest) rest = this.next(tokens, rest);
    return tokens;
  }

  /** Takes what belongs to the open comment or string, from the beginning. */
  private finish(tokens: Token[], rest: string, after: number): string {
    const end = rest.indexOf(this.open, after);
    const length = end < 0 ? rest.length : end + this.open.length;
    tokens.push({ text: rest.slice(0, length), kind: this.openKind });
    if (end >= 0) this.open = "";
    return rest.slice(length);
  }

  private begin(tokens: Token[], rest: string, start: string, end: string, kind: TokenKind): string {
    this.open = end;
    this.openKind = kind;
    return this.finish(tokens, rest, start.length);
  }

  private next(tokens: Token[], rest: string): string {
    const l = this.language;
    const take = (length: number, kind: TokenKind): string => {
      tokens.push({ text: rest.slice(0, length), kind });
      return rest.slice(length);
    };
    if (l.lineComment.test(rest)) return take(rest.length, "comment");
    if (l.block && rest.startsWith(l.block[0])) return this.begin(tokens, rest, l.block[0], l.block[1], "comment");
    const long = l.long.find((q) => rest.startsWith(q));
    if (long) return this.begin(tokens, rest, long, long, "string");
    const string = /^"(?:[^"\\]|\\.)*"?|^'(?:[^'\\]|\\.)*'/.exec(rest);
    if (string) return take(string[0].length, "string");
    const word = /^[A-Za-z_]\w*/.exec(rest);
    if (word) return take(word[0].length, l.keywords.has(l.ignoreCase ? word[0].toLowerCase() : word[0]) ? "keyword" : "");
    const number = /^\d[\w.]*/.exec(rest);
    if (number) return take(number[0].length, "number");
    const other = /^[^A-Za-z_\d"'/#!]+|^./.exec(rest);
    return take(other ? other[0].length : 1, "");
  }
}
