package syntax

import "slices"

// Clauses.
type (
	// From is what the stream reads.
	From struct {
		Node
		Streams []*StreamRef `parser:"'from':Clause @@ (',' @@)*"`
	}
	// StreamRef is a source or stream, or a case of one.
	StreamRef struct {
		Node
		Name Name  `parser:"@@"`
		Case *Name `parser:"('.' @@)?"`
	}
	Where struct {
		Node
		Cond Expr `parser:"'where':Clause @@"`
	}
	Let struct {
		Node
		Items []*Item `parser:"'let':Clause @@ (',' @@)*"`
	}
	Select struct {
		Node
		Items []*Item `parser:"'select':Clause @@ (',' @@)*"`
	}
	Aggregate struct {
		Node
		Items []*Fold `parser:"'aggregate':Clause @@ (',' @@)*"`
	}
	// Item is `name = value` or a value alone. The name needs two tokens of sight,
	// asked for here and nowhere else.
	Item struct {
		Node
		Name  *Name `parser:"( (?= (Ident | Quoted) '=') @@ '=' )?"`
		Value Expr  `parser:"@@"`
	}
	// Fold is an item of aggregate.
	Fold struct {
		Node
		Item *Item `parser:"@@"`
		If   Expr  `parser:"('if' @@)?"`
	}
	Flatten struct {
		Node
		List Operand `parser:"'flatten':Clause @@"`
		As   Name    `parser:"'as' @@"`
	}
	GroupBy struct {
		Node
		Keys []*Item `parser:"'group':Clause 'by' @@ (',' @@)*"`
	}
	Latest struct {
		Node
		Keys []*Item `parser:"'latest':Clause 'by' @@ (',' @@)*"`
	}
	Window struct {
		Node
		Kind    Name            `parser:"'window':Clause @@"`
		Size    *Size           `parser:"@@?"`
		Options []*WindowOption `parser:"@@*"` // in canonical order
	}
	// Size of a window: a duration, or all.
	Size struct {
		Node
		Text string `parser:"@(Duration | 'all')"`
	}
	// WindowOption has exactly one field set. Their order is the canonical one.
	WindowOption struct {
		Node
		Every  *Length `parser:"  'every' @@"`
		Max    *Length `parser:"| 'max' @@"`
		By     []*Item `parser:"| 'by' @@ (',' @@)*"`
		Offset *Length `parser:"| 'offset' @@"`
		Zone   *Text   `parser:"| 'zone' @@"`
		Grace  *Length `parser:"| 'grace' @@"`
		Late   *Target `parser:"| 'late' 'to' @@"`
		Early  *Length `parser:"| 'early' 'every' @@"`
	}
	Join struct {
		Node
		Kind string `parser:"( @('left':Clause | 'full':Clause) 'join' | 'join':Clause )"`
		With Name   `parser:"@@"`
		As   *Name  `parser:"('as' @@)?"`
		On   Expr   `parser:"'on' @@"`
		// Each part is optional by itself: participle panics when a branch of `|` matches nothing.
		Window bool   `parser:"(@'in' 'window')?"`
		AsOf   bool   `parser:"@'asof'?"`
		Within string `parser:"('within' @Duration"`
		Side   string `parser:"  @('before' | 'after')? )?"`
		Lateness
	}
	Dedup struct {
		Node
		Keys   []*Item `parser:"'dedup':Clause 'by' @@ (',' @@)*"`
		Within string  `parser:"'within' @Duration"`
		Lateness
	}
	// Lateness is what dedup and join say about late rows.
	Lateness struct {
		Grace string  `parser:"('grace' @Duration)?"`
		Late  *Target `parser:"('late' 'to' @@)?"`
	}
	Top struct {
		Node
		N    string  `parser:"'top':Clause @Number"`
		By   []*Rank `parser:"'by' @@ (',' @@)*"`
		Ties bool    `parser:"@'ties'?"`
		Per  []*Item `parser:"('per' @@ (',' @@)*)?"`
		As   *Name   `parser:"('as' @@)?"`
	}
	// Rank is what top sorts by.
	Rank struct {
		By   Expr `parser:"@@"`
		Desc bool `parser:"@'desc'?"`
	}
	To struct {
		Node
		Routes []*Route `parser:"'to':Clause @@ (',' @@)*"`
	}
	// Route is a target and which rows go there.
	Route struct {
		Node
		Target *Target `parser:"@@"`
		If     Expr    `parser:"( 'if' @@"`
		Else   bool    `parser:"| @'else' )?"`
	}
	// Target is a declared sink or a sink in place.
	Target struct {
		Node
		Sink    Operand   `parser:"@@"`
		Options []*Option `parser:"('{' @@* '}')?"`
	}
)

func (*From) clause()      {}
func (*Where) clause()     {}
func (*Let) clause()       {}
func (*Select) clause()    {}
func (*Flatten) clause()   {}
func (*Window) clause()    {}
func (*GroupBy) clause()   {}
func (*Latest) clause()    {}
func (*Aggregate) clause() {}
func (*Join) clause()      {}
func (*Dedup) clause()     {}
func (*Top) clause()       {}
func (*To) clause()        {}

// windowWords in the canonical order, as the fields of WindowOption.
var windowWords = []string{"every", "max", "by", "offset", "zone", "grace", "late", "early"}

// windowWordsHere are those that this version compiles.
var windowWordsHere = []string{"by", "offset", "grace", "late"}

func (o *WindowOption) rank() int {
	return slices.Index([]bool{o.Every != nil, o.Max != nil, o.By != nil, o.Offset != nil, o.Zone != nil,
		o.Grace != nil, o.Late != nil, o.Early != nil}, true)
}

// Word is the option's word.
func (o *WindowOption) Word() string { return windowWords[o.rank()] }
