//! NumPy files of one structured array. `numpy.load` gives its fields by name.

/// A field of every row: its name, its type as NumPy writes it, and how many values it has if it is an array.
pub(crate) type Field<'a> = (&'a str, &'a str, Option<usize>);

/// What comes before the rows of an array. Rows follow as their fields' little-endian values, without gaps.
pub(crate) fn header(fields: &[Field<'_>], rows: u64) -> Vec<u8> {
    let field = |(name, kind, values): &Field<'_>| match values {
        Some(values) => format!("('{name}', '{kind}', ({values},))"),
        None => format!("('{name}', '{kind}')"),
    };
    let fields = fields.iter().map(field).collect::<Vec<_>>().join(", ");
    let text = format!("{{'descr': [{fields}], 'fortran_order': False, 'shape': ({rows},), }}");
    // Ten bytes come first: the magic string, version 1.0 and a two-byte length. The header ends at a multiple of 64.
    let padded = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((padded as u16).to_le_bytes());
    header.extend(format!("{text:<width$}\n", width = padded - 1).into_bytes());
    header
}
