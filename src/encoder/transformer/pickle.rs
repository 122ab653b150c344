//! The list of tensors in a file of PyTorch, which is a pickle. Only what lists tensors is understood, and nothing is
//! executed.

use safetensors::tensor::Dtype;
use std::collections::HashMap;
use std::rc::Rc;

/// An error is what was found instead.
pub(super) type Found<T> = Result<T, String>;

/// What a pickle contains.
#[derive(Default)]
pub(super) struct List {
    /// Tensors by the names that dictionaries give them.
    pub tensors: HashMap<String, Rc<Tensor>>,
    /// The bytes of a value in each storage.
    pub sizes: HashMap<Rc<str>, usize>,
    /// Texts in lists.
    pub texts: Vec<Rc<str>>,
}

/// A tensor of the list.
#[derive(Debug)]
pub(super) struct Tensor {
    /// The type of its values.
    pub dtype: Dtype,
    /// The key of the storage with its values.
    pub storage: Rc<str>,
    /// Values before its first one.
    pub offset: usize,
    /// Its shape.
    pub shape: Vec<usize>,
    /// How many values apart neighbours are, for each axis.
    pub strides: Vec<usize>,
}

/// Reads a pickle from the front of some bytes.
pub(super) fn run(bytes: &mut &[u8]) -> Found<List> {
    let mut machine = Machine { bytes, stack: Vec::new(), memo: HashMap::new(), list: List::default() };
    while machine.step()? {}
    *bytes = machine.bytes;
    Ok(machine.list)
}

/// Something on the stack. What is referred to twice is shared, so that memory is bounded by the length of the pickle.
#[derive(Clone)]
enum Item {
    Mark,
    /// What lists of tensors contain and is not needed.
    Other,
    Integer(i64),
    Text(Rc<str>),
    /// A class or function by its module and name.
    Global(Rc<str>),
    /// At most [`DEEPEST`] tuples in one another: how many, and the items.
    Tuple(usize, Rc<[Item]>),
    /// A tuple that describes stored values: type, key, device and size.
    Storage(usize, Rc<[Item]>),
    Tensor(Rc<Tensor>),
    Dict,
}

/// Tuples in one another. More of them would let a crafted file exhaust the stack.
const DEEPEST: usize = 8;

struct Machine<'a> {
    bytes: &'a [u8],
    stack: Vec<Item>,
    memo: HashMap<u32, Item>,
    list: List,
}

impl<'a> Machine<'a> {
    /// Runs one operation; returns whether there are more.
    fn step(&mut self) -> Found<bool> {
        match self.take::<1>()?[0] {
            0x80 => drop(self.take::<1>()?),
            b'.' => return Ok(false),
            b'(' => self.stack.push(Item::Mark),
            b'N' | 0x88 | 0x89 | b']' => self.stack.push(Item::Other),
            b'}' => self.stack.push(Item::Dict),
            b')' => self.stack.push(Item::Tuple(1, Rc::new([]))),
            b'K' => {
                let value = i64::from(self.take::<1>()?[0]);
                self.stack.push(Item::Integer(value));
            }
            b'M' => {
                let value = u16::from_le_bytes(self.take()?);
                self.stack.push(Item::Integer(i64::from(value)));
            }
            b'J' => {
                let value = i32::from_le_bytes(self.take()?);
                self.stack.push(Item::Integer(i64::from(value)));
            }
            0x8a => {
                let length = usize::from(self.take::<1>()?[0]);
                let digits = self.slice(length)?;
                let mut value = [0; 8];
                value.get_mut(..length).ok_or("an integer of more than 8 bytes")?.copy_from_slice(digits);
                self.stack.push(Item::Integer(i64::from_le_bytes(value)));
            }
            b'G' => {
                self.take::<8>()?;
                self.stack.push(Item::Other);
            }
            b'X' => {
                let length = u32::from_le_bytes(self.take()?) as usize;
                let text = std::str::from_utf8(self.slice(length)?).map_err(|e| e.to_string())?;
                self.stack.push(Item::Text(text.into()));
            }
            b'c' => {
                let name = format!("{} {}", self.line()?, self.line()?);
                self.stack.push(Item::Global(name.into()));
            }
            b'q' => {
                let at = u32::from(self.take::<1>()?[0]);
                self.remember(at)?;
            }
            b'r' => {
                let at = u32::from_le_bytes(self.take()?);
                self.remember(at)?;
            }
            b'h' => {
                let at = u32::from(self.take::<1>()?[0]);
                self.recall(at)?;
            }
            b'j' => {
                let at = u32::from_le_bytes(self.take()?);
                self.recall(at)?;
            }
            b't' => {
                let items = self.pop_mark()?;
                self.tuple(items)?;
            }
            code @ 0x85..=0x87 => {
                let first = self.stack.len().checked_sub(usize::from(code - 0x84)).ok_or(SHORT)?;
                let items = self.stack.split_off(first);
                self.tuple(items)?;
            }
            b'Q' => {
                let item = self.pop()?;
                let storage = self.storage(item);
                self.stack.push(storage);
            }
            b'R' | 0x81 => {
                let arguments = self.pop()?;
                let function = self.pop()?;
                self.stack.push(reduced(&function, &arguments)?);
            }
            b'b' => drop(self.pop()?),
            b'a' => {
                let item = self.pop()?;
                self.append(&[item]);
            }
            b'e' => {
                let items = self.pop_mark()?;
                self.append(&items);
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.enter(&[key, value]);
            }
            b'u' => self.pop_mark()?.chunks_exact(2).for_each(|pair| self.enter(pair)),
            other => return Err(format!("the code {other:#x} in its list")),
        }
        Ok(true)
    }

    fn append(&mut self, items: &[Item]) {
        let text = |item: &Item| if let Item::Text(text) = item { Some(text.clone()) } else { None };
        self.list.texts.extend(items.iter().filter_map(text));
    }

    fn enter(&mut self, pair: &[Item]) {
        if let [Item::Text(key), Item::Tensor(tensor)] = pair {
            self.list.tensors.insert(key.to_string(), tensor.clone());
        }
    }

    /// Type, key, device and size of stored values.
    fn storage(&mut self, item: Item) -> Item {
        let Item::Tuple(depth, items) = item else { return Item::Other };
        if let [_, Item::Global(kind), Item::Text(key), ..] = &*items
            && let Some((_, size)) = SIZES.iter().find(|(name, _)| **kind == format!("torch {name}Storage"))
        {
            self.list.sizes.insert(key.clone(), *size);
        }
        Item::Storage(depth, items)
    }

    fn tuple(&mut self, items: Vec<Item>) -> Found<()> {
        let depth = |item: &Item| match item {
            Item::Tuple(depth, _) | Item::Storage(depth, _) => *depth,
            _ => 0,
        };
        let depth = 1 + items.iter().map(depth).max().unwrap_or(0);
        if depth > DEEPEST {
            return Err(format!("more than {DEEPEST} tuples in one another"));
        }
        self.stack.push(Item::Tuple(depth, items.into()));
        Ok(())
    }

    fn remember(&mut self, at: u32) -> Found<()> {
        let top = self.stack.last().ok_or(SHORT)?;
        self.memo.insert(at, top.clone());
        Ok(())
    }

    fn recall(&mut self, at: u32) -> Found<()> {
        let item = self.memo.get(&at).ok_or("a reference to nothing")?;
        self.stack.push(item.clone());
        Ok(())
    }

    fn pop(&mut self) -> Found<Item> {
        self.stack.pop().ok_or_else(|| SHORT.to_string())
    }

    fn pop_mark(&mut self) -> Found<Vec<Item>> {
        let mark = self.stack.iter().rposition(|item| matches!(item, Item::Mark)).ok_or(SHORT)?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        Ok(items)
    }

    fn slice(&mut self, length: usize) -> Found<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(SHORT)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn take<const N: usize>(&mut self) -> Found<[u8; N]> {
        self.slice(N)?.try_into().map_err(|_| SHORT.to_string())
    }

    fn line(&mut self) -> Found<String> {
        let length = self.bytes.iter().position(|&byte| byte == b'\n').ok_or(SHORT)?;
        let line = String::from_utf8_lossy(self.slice(length)?).into_owned();
        self.slice(1)?;
        Ok(line)
    }
}

/// The bytes of a value, by the name of its type.
const SIZES: [(&str, usize); 10] = [
    ("Float", 4),
    ("Half", 2),
    ("BFloat16", 2),
    ("Double", 8),
    ("Long", 8),
    ("Int", 4),
    ("Short", 2),
    ("Char", 1),
    ("Byte", 1),
    ("Bool", 1),
];

const SHORT: &str = "a list that ends too early";

/// What a function returns: a tensor, a dictionary, or something that is not needed.
fn reduced(function: &Item, arguments: &Item) -> Found<Item> {
    let (Item::Global(name), Item::Tuple(_, arguments)) = (function, arguments) else { return Ok(Item::Other) };
    Ok(match (&**name, &**arguments) {
        ("collections OrderedDict", _) => Item::Dict,
        ("torch._utils _rebuild_parameter", [tensor @ Item::Tensor(_), ..]) => tensor.clone(),
        (
            "torch._utils _rebuild_tensor_v2",
            [Item::Storage(_, storage), Item::Integer(offset), Item::Tuple(_, shape), Item::Tuple(_, strides), ..],
        ) => {
            let [_, Item::Global(kind), Item::Text(key), ..] = &**storage else {
                return Err("a tensor without values".to_string());
            };
            let dtype = match &**kind {
                "torch FloatStorage" => Dtype::F32,
                "torch HalfStorage" => Dtype::F16,
                "torch BFloat16Storage" => Dtype::BF16,
                "torch DoubleStorage" => Dtype::F64,
                "torch LongStorage" => Dtype::I64,
                // Of no use here, and not refused: folders can have other tensors beside those of the network.
                _ => return Ok(Item::Other),
            };
            let (shape, strides) = (sizes(shape)?, sizes(strides)?);
            if shape.len() != strides.len() {
                return Err("a tensor with more sizes than strides".to_string());
            }
            let offset = usize::try_from(*offset).map_err(|_| "a tensor that begins before its values")?;
            Item::Tensor(Rc::new(Tensor { dtype, storage: key.clone(), offset, shape, strides }))
        }
        _ => Item::Other,
    })
}

fn sizes(items: &[Item]) -> Found<Vec<usize>> {
    let size = |item: &Item| match item {
        Item::Integer(size) => usize::try_from(*size).ok(),
        _ => None,
    };
    items.iter().map(size).collect::<Option<_>>().ok_or_else(|| "a tensor with impossible sizes".to_string())
}
