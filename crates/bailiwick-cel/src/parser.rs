//! Tokens as a tree, by the grammar of the language definition. Depth and length are bounded.

use std::vec::IntoIter;

use super::ast::{Expr, Field, Operator};
use super::lexer::{Token, tokens};
use super::macros;
use super::objects::is_reserved;
use super::value::Literal;

/// The longest supported expression in bytes.
const LONGEST: usize = 64 * 1024;
/// The deepest nesting of an expression, about the same as in the API server's parser.
const DEEPEST: usize = 120;

/// Why there is no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// The text is no expression of the language: the API server refuses it too.
    Syntax(String),
    /// The expression is beyond the limits of this parser.
    NotRead(String),
}

/// Reads an expression.
///
/// # Errors
/// Why it is none, or why it is not read.
pub(super) fn parse(text: &str) -> Result<Expr, Problem> {
    if text.len() > LONGEST {
        return Err(Problem::NotRead(format!("an expression of {} bytes is not read", text.len())));
    }
    let tokens = tokens(text).map_err(|why| Problem::Syntax(why.to_string()))?;
    let mut parser = Parser { tokens: tokens.into_iter(), depth: 0 };
    let (expr, _) = parser.expression()?;
    match parser.peek() {
        None => Ok(expr),
        Some(token) => Err(Problem::Syntax(format!("{} is one too many", shown(token)))),
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Name(name) => format!("`{name}`"),
        Token::Symbol(symbol) => format!("`{symbol}`"),
        Token::String(_) => "a text".to_owned(),
        Token::Bytes(_) => "a literal of bytes".to_owned(),
        Token::Int { .. } | Token::UInt { .. } | Token::Double(_) => "a number".to_owned(),
    }
}

/// A node and its depth, so that a chain of a thousand members counts like a thousand parentheses.
type Node = (Expr, usize);

struct Parser {
    tokens: IntoIter<Token>,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.as_slice().first()
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let fits = matches!(self.peek(), Some(Token::Symbol(found)) if *found == symbol);
        if fits {
            self.tokens.next();
        }
        fits
    }

    fn expect(&mut self, symbol: &str) -> Result<(), Problem> {
        if self.takes(symbol) {
            return Ok(());
        }
        let found = self.peek().map_or_else(|| "its end".to_owned(), shown);
        Err(Problem::Syntax(format!("`{symbol}` is expected before {found}")))
    }

    fn expression(&mut self) -> Result<Node, Problem> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Problem::NotRead("it nests too deeply".to_owned()));
        }
        let (condition, mut depth) = self.or()?;
        let expr = if self.takes("?") {
            let (then, deep) = self.or()?;
            depth = depth.max(deep);
            self.expect(":")?;
            let (otherwise, deep) = self.expression()?;
            depth = depth.max(deep);
            Expr::Conditional { condition: Box::new(condition), then: Box::new(then), otherwise: Box::new(otherwise) }
        } else {
            condition
        };
        self.depth -= 1;
        deeper(expr, depth)
    }

    fn or(&mut self) -> Result<Node, Problem> {
        self.chain("||", Self::and, Expr::Or)
    }

    fn and(&mut self) -> Result<Node, Problem> {
        self.chain("&&", Self::relation, Expr::And)
    }

    fn chain(
        &mut self,
        symbol: &str,
        term: fn(&mut Self) -> Result<Node, Problem>,
        make: fn(Vec<Expr>) -> Expr,
    ) -> Result<Node, Problem> {
        let (first, mut depth) = term(self)?;
        let mut terms = vec![first];
        while self.takes(symbol) {
            let (next, deep) = term(self)?;
            depth = depth.max(deep);
            terms.push(next);
        }
        match <[Expr; 1]>::try_from(terms) {
            Ok([only]) => Ok((only, depth)),
            Err(terms) => deeper(make(terms), depth),
        }
    }

    fn relation(&mut self) -> Result<Node, Problem> {
        self.binary(Self::sum, |token| {
            Some(match token {
                Token::Symbol("==") => Operator::Equal,
                Token::Symbol("!=") => Operator::NotEqual,
                Token::Symbol("<") => Operator::Less,
                Token::Symbol("<=") => Operator::LessOrEqual,
                Token::Symbol(">") => Operator::Greater,
                Token::Symbol(">=") => Operator::GreaterOrEqual,
                Token::Name(name) if name == "in" => Operator::In,
                _ => return None,
            })
        })
    }

    fn sum(&mut self) -> Result<Node, Problem> {
        self.binary(Self::product, |token| match token {
            Token::Symbol("+") => Some(Operator::Add),
            Token::Symbol("-") => Some(Operator::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Result<Node, Problem> {
        self.binary(Self::unary, |token| match token {
            Token::Symbol("*") => Some(Operator::Multiply),
            Token::Symbol("/") => Some(Operator::Divide),
            Token::Symbol("%") => Some(Operator::Modulo),
            _ => None,
        })
    }

    fn binary(
        &mut self,
        operand: fn(&mut Self) -> Result<Node, Problem>,
        operator: fn(&Token) -> Option<Operator>,
    ) -> Result<Node, Problem> {
        let (mut left, mut depth) = operand(self)?;
        while let Some(operator) = self.peek().and_then(operator) {
            self.tokens.next();
            let (right, deep) = operand(self)?;
            let both = Expr::Binary { operator, left: Box::new(left), right: Box::new(right) };
            (left, depth) = deeper(both, depth.max(deep))?;
        }
        Ok((left, depth))
    }

    /// Signs cancel each other out in pairs, as they do in the API server.
    fn unary(&mut self) -> Result<Node, Problem> {
        let mut count = 0_usize;
        for (symbol, make) in [("!", Expr::Not as fn(Box<Expr>) -> Expr), ("-", Expr::Negate)] {
            while self.takes(symbol) {
                count += 1;
            }
            if count == 0 {
                continue;
            }
            if symbol == "-" && matches!(self.peek(), Some(Token::Int { .. } | Token::Double(_))) {
                let literal = self.literal(true)?;
                let (member, depth) = self.members((Expr::Literal(literal), 1))?;
                return if count % 2 == 1 {
                    Ok((member, depth))
                } else {
                    deeper(Expr::Negate(Box::new(member)), depth)
                };
            }
            let (member, depth) = self.member()?;
            return if count % 2 == 1 { deeper(make(Box::new(member)), depth) } else { Ok((member, depth)) };
        }
        self.member()
    }

    fn member(&mut self) -> Result<Node, Problem> {
        let primary = self.primary()?;
        self.members(primary)
    }

    fn members(&mut self, (mut expr, mut depth): Node) -> Result<Node, Problem> {
        loop {
            if self.takes(".") {
                let optional = self.takes("?");
                let field = self.name()?;
                if !optional && self.takes("(") {
                    let (arguments, deep) = self.arguments(")")?;
                    depth = depth.max(deep);
                    expr = macros::member_call(expr, field, arguments)?;
                } else {
                    expr = Expr::Select { operand: Box::new(expr), field, optional };
                }
            } else if self.takes("[") {
                let optional = self.takes("?");
                let (index, deep) = self.expression()?;
                depth = depth.max(deep);
                self.expect("]")?;
                expr = Expr::Index { operand: Box::new(expr), index: Box::new(index), optional };
            } else if matches!(self.peek(), Some(Token::Symbol("{")))
                && let Some(name) = expr.path()
            {
                self.takes("{");
                let (fields, deep) = self.fields()?;
                depth = depth.max(deep);
                expr = Expr::Struct { name, fields };
            } else {
                return Ok((expr, depth));
            }
            (expr, depth) = deeper(expr, depth)?;
        }
    }

    /// Decides whether a list in brackets ends here. The grammar permits a comma in an empty list.
    fn ends(&mut self, end: &str, is_empty: bool) -> Result<bool, Problem> {
        if is_empty && self.takes(",") {
            return self.expect(end).map(|()| true);
        }
        Ok(self.takes(end))
    }

    /// Parses the fields of an object, up to its end.
    fn fields(&mut self) -> Result<(Vec<Field>, usize), Problem> {
        let (mut fields, mut depth) = (Vec::new(), 0);
        while !self.ends("}", fields.is_empty())? {
            let optional = self.takes("?");
            let field = self.name()?;
            self.expect(":")?;
            let (value, deep) = self.expression()?;
            depth = depth.max(deep);
            fields.push((field, value, optional));
            if !self.takes(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok((fields, depth))
    }

    fn name(&mut self) -> Result<String, Problem> {
        match self.tokens.next() {
            Some(Token::Name(name)) if !matches!(name.as_str(), "in" | "true" | "false" | "null") => Ok(name),
            Some(token) => Err(Problem::Syntax(format!("a name is expected before {}", shown(&token)))),
            None => Err(Problem::Syntax("a name is expected before its end".to_owned())),
        }
    }

    /// Parses expressions between commas up to a closing symbol; a list may end with a comma.
    fn arguments(&mut self, end: &str) -> Result<(Vec<Expr>, usize), Problem> {
        let (mut arguments, mut depth) = (Vec::new(), 0);
        if self.takes(end) {
            return Ok((arguments, depth));
        }
        loop {
            let (argument, deep) = self.expression()?;
            depth = depth.max(deep);
            arguments.push(argument);
            if !self.takes(",") {
                self.expect(end)?;
                return Ok((arguments, depth));
            }
        }
    }

    fn primary(&mut self) -> Result<Node, Problem> {
        if self.takes("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.takes("[") {
            return self.list();
        }
        if self.takes("{") {
            return self.map();
        }
        let is_absolute = self.takes(".");
        match self.peek() {
            Some(Token::Name(name)) if is_absolute || !matches!(name.as_str(), "true" | "false" | "null") => {
                let name = self.name()?;
                if is_reserved(&name) {
                    return Err(Problem::Syntax(format!("`{name}` is a word of the language")));
                }
                if self.takes("(") {
                    let (arguments, depth) = self.arguments(")")?;
                    // A name behind a point is none of a macro.
                    let call = match is_absolute {
                        true => Expr::Call { target: None, function: name, arguments },
                        false => macros::global_call(name, arguments)?,
                    };
                    return deeper(call, depth);
                }
                // A name behind a point is not bound by a macro.
                Ok((Expr::Ident(if is_absolute { format!(".{name}") } else { name }), 1))
            }
            _ if is_absolute => Err(Problem::Syntax("a name is missing behind `.`".to_owned())),
            _ => Ok((Expr::Literal(self.literal(false)?), 1)),
        }
    }

    fn list(&mut self) -> Result<Node, Problem> {
        let (mut items, mut depth) = (Vec::new(), 0);
        while !self.ends("]", items.is_empty())? {
            let optional = self.takes("?");
            let (item, deep) = self.expression()?;
            depth = depth.max(deep);
            items.push((item, optional));
            if !self.takes(",") {
                self.expect("]")?;
                break;
            }
        }
        deeper(Expr::List(items), depth)
    }

    fn map(&mut self) -> Result<Node, Problem> {
        let (mut entries, mut depth) = (Vec::new(), 0);
        while !self.ends("}", entries.is_empty())? {
            let optional = self.takes("?");
            let (key, deep) = self.expression()?;
            depth = depth.max(deep);
            self.expect(":")?;
            let (value, deep) = self.expression()?;
            depth = depth.max(deep);
            entries.push((key, value, optional));
            if !self.takes(",") {
                self.expect("}")?;
                break;
            }
        }
        deeper(Expr::Map(entries), depth)
    }

    fn literal(&mut self, is_negative: bool) -> Result<Literal, Problem> {
        let Some(token) = self.tokens.next() else { return Err(Problem::Syntax("it ends too early".to_owned())) };
        let too_large = |_| Problem::Syntax("a number is too large".to_owned());
        Ok(match token {
            Token::String(text) => Literal::String(text.into()),
            Token::Bytes(bytes) => Literal::Bytes(bytes.into()),
            Token::Int { digits, radix } => {
                let signed = if is_negative { format!("-{digits}") } else { digits };
                Literal::Int(i64::from_str_radix(&signed, radix).map_err(too_large)?)
            }
            Token::UInt { digits, radix } => Literal::UInt(u64::from_str_radix(&digits, radix).map_err(too_large)?),
            Token::Double(text) => {
                let number: f64 = text.parse().map_err(|_| Problem::Syntax("a number is none".to_owned()))?;
                if !number.is_finite() {
                    return Err(Problem::Syntax("a number is too large".to_owned()));
                }
                Literal::Double(if is_negative { -number } else { number })
            }
            Token::Name(name) if name == "true" => Literal::Bool(true),
            Token::Name(name) if name == "false" => Literal::Bool(false),
            Token::Name(name) if name == "null" => Literal::Null,
            token => return Err(Problem::Syntax(format!("{} is not expected there", shown(&token)))),
        })
    }
}

fn deeper(expr: Expr, depth: usize) -> Result<Node, Problem> {
    // INVARIANT: no tree is deeper, so recursion over trees is bounded.
    if depth >= DEEPEST { Err(Problem::NotRead("it nests too deeply".to_owned())) } else { Ok((expr, depth + 1)) }
}
