package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// verifyFile walks the pages of a bbolt file and checks what bbolt takes for granted: that each page is where it says, is used once, lies in the file, and
// that its keys and elements lie in the page and in order. bbolt would panic on such pages, in a goroutine where nobody can recover, or read beyond the
// end of its memory map, which the kernel answers with a signal. Values are not read: they have checksums of their own.
//
// The layout is that of bbolt's file format version 2: a page has a header of 16 bytes (id, flags, count, overflow), a
// meta page has its fields behind it, branch and leaf pages an array of elements of 16 bytes whose position counts from the element itself.
//
// It returns how many bytes the file has, and how many of them are in use.
func verifyFile(path string) (size, live int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	v := newVerifier(f, info.Size())
	err = v.walk()
	return v.size, v.live(), err
}

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	flagBranch = 0x01
	flagLeaf   = 0x02
	flagBucket = 0x01 // of a leaf's element: the value is a bucket

	pageHeader  = 16
	elementSize = 16
	bucketSize  = 16 // root page and sequence
	metaSize    = 64

	maxTreeDepth = 64 // of pages and nested buckets together
)

// verifier is one walk.
type verifier struct {
	file     io.ReaderAt
	size     int64
	pageSize int64
	root     uint64
	high     uint64 // pages from here on were never used
	tx       uint64 // number of the newest bbolt tx
	used     map[uint64]bool

	// visit, if there is one, is shown every value in the order of keys, with the keys of the buckets that it is in.
	visit func(path [][]byte, key []byte, v value) error
	path  [][]byte
}

func newVerifier(f io.ReaderAt, size int64) *verifier {
	return &verifier{file: f, size: size, used: map[uint64]bool{0: true, 1: true}}
}

// walk is the whole walk.
func (v *verifier) walk() error {
	if err := v.readMeta(); err != nil {
		return err
	}
	return v.tree(v.root, nil, nil, 0)
}

// live is how many bytes of the file are in use.
func (v *verifier) live() int64 { return int64(len(v.used)) * v.pageSize }

// value is a value in a page. It is read when it is asked for.
type value struct {
	in       *page
	at, size int64
}

// first reads the first n bytes, or all if there are fewer.
func (v value) first(n int64) ([]byte, error) { return v.in.read(v.at, min(n, v.size)) }

// readMeta finds the newer of the two valid meta pages: bbolt writes them in turn.
func (v *verifier) readMeta() error {
	var failed error
	valid := false
	try := func(offset int64) bool {
		b := make([]byte, pageHeader+metaSize)
		if _, err := v.file.ReadAt(b, offset); err != nil {
			if err != io.EOF {
				failed = err
			}
			return false
		}
		m := b[pageHeader:]
		sum := fnv.New64a()
		sum.Write(m[:56])
		if u32(m) != boltMagic || u32(m[4:]) != boltVersion || u64(m[56:]) != sum.Sum64() {
			return false
		}
		if tx := u64(m[48:]); !valid || tx > v.tx {
			v.pageSize, v.root, v.high = int64(u32(m[8:])), u64(m[16:]), u64(m[40:])
			v.tx, valid = tx, true
		}
		return true
	}
	if !try(0) {
		for size := int64(1 << 10); size <= 1<<16 && !valid; size <<= 1 { // the first page says where the second lies
			try(size)
		}
	} else {
		try(v.pageSize)
	}
	switch {
	case failed != nil:
		return failed
	case v.size == 0:
		return found("it is empty")
	case !valid:
		return found("neither of its two meta pages is valid")
	case v.pageSize < 512 || v.pageSize > 1<<20 || v.pageSize&(v.pageSize-1) != 0:
		return found("its page size is %d", v.pageSize)
	case v.high > uint64(v.size/v.pageSize):
		return found("it is cut off: %d pages are in use, %d are there", v.high, v.size/v.pageSize)
	}
	return nil
}

// tree checks the page and all below it. Its keys are at least low and less than high; nil is no bound.
func (v *verifier) tree(id uint64, low, high []byte, depth int) error {
	if depth > maxTreeDepth {
		return found("page %d is nested too deeply", id)
	}
	p, err := v.page(id)
	if err != nil {
		return err
	}
	return v.elements(p, low, high, depth)
}

// page is a page with its overflow pages. Only what is asked for is read.
type page struct {
	id     uint64
	name   string
	file   io.ReaderAt
	offset int64
	size   int64
	leaf   bool
	table  []byte // the elements
}

func (v *verifier) page(id uint64) (*page, error) {
	if id < 2 || id >= v.high {
		return nil, found("page %d does not exist: pages 2 to %d do", id, v.high-1)
	}
	p := &page{id: id, name: fmt.Sprintf("page %d", id), file: v.file, offset: int64(id) * v.pageSize}
	head, err := p.read(0, pageHeader)
	if err != nil {
		return nil, err
	}
	flags, count, overflow := u16(head[8:]), u16(head[10:]), u32(head[12:])
	if u64(head) != id || flags != flagBranch && flags != flagLeaf {
		return nil, found("page %d says that it is page %d with flags %#x", id, u64(head), flags)
	}
	if id+uint64(overflow) >= v.high {
		return nil, found("page %d has %d more pages, which do not exist", id, overflow)
	}
	for i := id; i <= id+uint64(overflow); i++ {
		if v.used[i] {
			return nil, found("page %d is used twice", i)
		}
		v.used[i] = true
	}
	p.leaf, p.size = flags == flagLeaf, v.pageSize*int64(overflow+1)
	return p, p.readTable(int64(count))
}

// inline is the page of a small bucket, which lies in the bucket's value.
func inline(of *page, value []byte) (*page, error) {
	p := &page{id: of.id, name: "a bucket in " + of.name, file: bytes.NewReader(value), size: int64(len(value)), leaf: true}
	head, err := p.read(0, pageHeader)
	if err != nil {
		return nil, err
	}
	if u16(head[8:]) != flagLeaf {
		return nil, found("%s has flags %#x", p.name, u16(head[8:]))
	}
	return p, p.readTable(int64(u16(head[10:])))
}

func (p *page) readTable(count int64) (err error) {
	if pageHeader+count*elementSize > p.size {
		return found("%s has %d elements, more than fit", p.name, count)
	}
	p.table, err = p.read(pageHeader, count*elementSize)
	return err
}

func (p *page) read(at, n int64) ([]byte, error) {
	b := make([]byte, n)
	got, err := p.file.ReadAt(b, p.offset+at)
	switch {
	case int64(got) == n:
		return b, nil
	case err == io.EOF:
		return nil, found("%s is cut off", p.name)
	}
	return nil, err
}

// elements checks the elements of a page and what they lead to.
func (v *verifier) elements(p *page, low, high []byte, depth int) error {
	count := int64(len(p.table) / elementSize)
	if !p.leaf && count == 0 {
		return found("%s is a branch without elements", p.name)
	}
	keys := make([][]byte, count)
	for i := range count {
		e := p.table[i*elementSize : (i+1)*elementSize]
		pos, keySize, valueSize := int64(u32(e)), int64(u32(e[4:])), int64(0)
		if p.leaf {
			pos, keySize, valueSize = int64(u32(e[4:])), int64(u32(e[8:])), int64(u32(e[12:]))
		}
		at := pageHeader + i*elementSize + pos
		if at < pageHeader+count*elementSize || at+keySize+valueSize > p.size {
			return found("element %d of %s lies outside of it", i, p.name)
		}
		key, err := p.read(at, keySize)
		if err != nil {
			return err
		}
		keys[i] = key
		if bytes.Compare(key, low) < 0 || high != nil && bytes.Compare(key, high) >= 0 || i > 0 && bytes.Compare(keys[i-1], key) >= 0 {
			return found("element %d of %s is out of order", i, p.name)
		}
		if p.leaf {
			if err := v.element(key, value{p, at + keySize, valueSize}, u32(e)&flagBucket != 0, depth); err != nil {
				return err
			}
		}
	}
	if p.leaf {
		return nil
	}
	for i := range count {
		end := high
		if i+1 < count {
			end = keys[i+1]
		}
		if err := v.tree(u64(p.table[i*elementSize+8:]), keys[i], end, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// element is a value, or a bucket and what is in it.
func (v *verifier) element(key []byte, val value, bucket bool, depth int) error {
	switch {
	case bucket:
		v.path = append(v.path, key)
		defer func() { v.path = v.path[:len(v.path)-1] }()
		return v.bucket(val.in, val.at, val.size, depth)
	case v.visit != nil:
		return v.visit(v.path, key, val)
	}
	return nil
}

// bucket checks a nested bucket: a page of its own, or a page within the value.
func (v *verifier) bucket(p *page, at, size int64, depth int) error {
	if size < bucketSize {
		return found("a bucket of %s is cut off", p.name)
	}
	head, err := p.read(at, bucketSize)
	if err != nil {
		return err
	}
	if root := u64(head); root != 0 {
		return v.tree(root, nil, nil, depth+1)
	}
	value, err := p.read(at+bucketSize, size-bucketSize)
	if err != nil {
		return err
	}
	in, err := inline(p, value)
	if err != nil {
		return err
	}
	return v.elements(in, nil, nil, depth+1)
}

// bbolt writes numbers as the machine has them.
func u16(b []byte) uint16 { return binary.NativeEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
