//! Zstandard as a stream: frames of a few megabytes one after the other, which every decoder takes as one text.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::{self, BufRead, Read, Write};

/// What is compressed together.
const FRAME: usize = 4 << 20;
/// The longest distance to repeated text that a frame may ask for. It bounds the memory of the decoder.
const WINDOW: u64 = 8 << 20;

/// Compresses what is written to it. Equal input gives equal bytes.
pub(super) struct Compressed<W> {
    out: W,
    waiting: Vec<u8>,
}

impl<W: Write> Compressed<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, waiting: Vec::with_capacity(FRAME) }
    }

    /// Writes the last frame and returns what was written to.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.frame()?;
        Ok(self.out)
    }

    fn frame(&mut self) -> io::Result<()> {
        // Compressed from memory to memory, where nothing can fail.
        self.out.write_all(&compress_to_vec(self.waiting.as_slice(), CompressionLevel::Fastest))?;
        self.waiting.clear();
        Ok(())
    }
}

impl<W: Write> Write for Compressed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(FRAME - self.waiting.len());
        self.waiting.extend_from_slice(&bytes[..count]);
        if self.waiting.len() == FRAME {
            self.frame()?;
        }
        Ok(count)
    }

    /// Waits for more, so that frames do not depend on how the input is cut.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decompresses frames in bounded memory.
pub(super) struct Decompressed<R> {
    source: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Decompressed<R> {
    pub(super) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Self { source, decoder, inside: false }
    }
}

impl<R: BufRead> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.inside && self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.inside && self.decoder.is_finished() {
                let (written, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
                if written.is_some() && written != found {
                    return Err(io::Error::other("a frame differs from its checksum"));
                }
                self.inside = false;
            }
            if self.inside {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
            } else if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.decoder.reset(&mut self.source).map_err(io::Error::other)?;
                self.inside = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn compressed(text: &[u8], piece: usize) -> Vec<u8> {
        let mut out = Compressed::new(Vec::new());
        text.chunks(piece).for_each(|piece| out.write_all(piece).unwrap());
        out.finish().unwrap()
    }

    fn text() -> Vec<u8> {
        let noise = |at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8;
        (0..(FRAME as u32 + 70_000)).map(|at| if at % 3 == 0 { b'a' } else { noise(at / 7) }).collect()
    }

    #[test]
    fn what_goes_in_comes_out_and_does_not_depend_on_the_pieces() {
        for text in [&b""[..], b"a", &text()] {
            let packed = compressed(text, 1000);
            assert_eq!(packed, compressed(text, 77_777));
            let mut back = Vec::new();
            Decompressed::new(packed.as_slice()).read_to_end(&mut back).unwrap();
            assert!(back == text);
        }
    }

    #[test]
    fn every_truncation_and_every_flip_in_a_small_file_is_an_error_or_seen_in_the_text() {
        let text = b"She reads old letters. She reads old letters, and old books.".repeat(20);
        let packed = compressed(&text, 100);
        let read = |bytes: &[u8]| {
            let mut back = Vec::new();
            Decompressed::new(bytes).read_to_end(&mut back).map(|_| back)
        };
        for end in 1..packed.len() {
            assert!(read(&packed[..end]).is_err(), "{end} of {}", packed.len());
        }
        for at in 0..packed.len() {
            for bit in 0..8 {
                let mut damaged = packed.clone();
                damaged[at] ^= 1 << bit;
                // Flips in the header can leave the text as it is, such as one of the size of the window.
                drop(read(&damaged).map(|back| assert!(back == text || at < 8, "bit {bit} of byte {at}")));
            }
        }
    }

    #[test]
    fn a_frame_that_asks_for_much_memory_is_refused() {
        // Magic, a header with a window, the size of the window: 2^(10 + 31).
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00];
        assert!(Decompressed::new(&frame[..]).read(&mut [0; 8]).is_err());
    }
}
