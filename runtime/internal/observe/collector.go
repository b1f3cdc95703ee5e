package observe

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// scrapes is how many scrapes are answered at the same time.
const scrapes = 4

// About is what a pipeline is made of.
type About struct {
	Pipeline string // its name, which every metric has as label pipeline
	File     string // base name of the .eo file
	Compiler string // that made it, such as `eoc v1.2.3`
}

// collector is a prometheus.Collector that makes its metrics of one Status for each scrape.
type collector struct {
	about  About
	source Source
	descs  []*prometheus.Desc // of catalogue
}

// NewCollector makes a Collector of the metrics of one pipeline. Those of several pipelines can be in one registry.
func NewCollector(about About, source Source) prometheus.Collector {
	c := &collector{about: about, source: source}
	for _, m := range catalogue() {
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, m.labels, prometheus.Labels{"pipeline": about.Pipeline}))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	v := view{Status: c.source(), about: c.about, now: time.Now()}
	for i, m := range catalogue() {
		d := c.descs[i]
		if m.histogram != nil {
			m.histogram(v, func(h engine.Histogram, labels ...string) {
				buckets := map[float64]uint64{}
				for bound, n := range h.Buckets {
					buckets[bound.Seconds()] = uint64(n)
				}
				to <- prometheus.MustNewConstHistogram(d, uint64(h.Count), h.Sum.Seconds(), buckets, labels...)
			})
			continue
		}
		m.values(v, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, m.kind, value, labels...)
		})
	}
}

// MountMetrics mounts /metrics with the pipeline's metrics, and those of Go and of the process.
func (s *Server) MountMetrics(about About, source Source) {
	r := prometheus.NewRegistry()
	r.MustRegister(NewCollector(about, source), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.Handle("GET /metrics", "figures, for Prometheus", promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelError), ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: scrapes,
	}))
}

// Register puts the pipeline's metrics into somebody's registry until unregister is called.
func Register(r prometheus.Registerer, about About, source Source) (unregister func(), err error) {
	c := NewCollector(about, source)
	if err := r.Register(c); err != nil {
		return nil, failure.New(failure.Usage, "give each pipeline a name of its own", err, "the metrics of pipeline %s cannot be registered", about.Pipeline)
	}
	return func() { r.Unregister(c) }, nil
}

// view is what metrics are made of: one moment.
type view struct {
	engine.Status
	about About
	now   time.Time
}

// micros is a watermark as seconds since 1970.
func micros(w int64) float64 { return float64(w) / 1e6 }

// lag is how far a watermark is behind the clock.
func (v view) lag(w int64) float64 { return v.now.Sub(time.UnixMicro(w)).Seconds() }

// isTime says whether a watermark is a time: there is none before the first record, and none at the end.
func isTime(w int64) bool { return w > -1<<63 && w < 1<<63-1 }

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
