package rttest

// buffer stands for what a fetch brings: records in memory that is used again.
type buffer struct{ bytes [][]byte }

// copies copies records into the buffer.
func (b *buffer) copies(records []Record) []Record {
	copies := make([]Record, len(records))
	for i, r := range records {
		r.Key, r.Value = b.copy(r.Key), b.copy(r.Value)
		headers := make([]Header, len(r.Headers))
		for k, h := range r.Headers {
			headers[k] = Header{Key: h.Key, Value: b.copy(h.Value)}
		}
		r.Headers = headers
		copies[i] = r
	}
	return copies
}

// copy keeps null null. Nothing may be appended to the copy, and it begins and ends where nothing else does.
func (b *buffer) copy(v []byte) []byte {
	if v == nil {
		return nil
	}
	c := make([]byte, len(v))
	copy(c, v)
	b.bytes = append(b.bytes, c)
	return c
}

// overwrite ends the life of the records.
func (b *buffer) overwrite() {
	for _, v := range b.bytes {
		for i := range v {
			v[i] = '#'
		}
	}
}
